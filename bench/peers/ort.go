package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/espalier-ane/espalier/tensor"
)

// The C interface of ONNX Runtime is a table of functions, found by the version
// that one asks for. The table only ever grows, so a place is a function for good.
const ortVersion = 16

// The places of the functions that we call.
const (
	ortGetErrorMessage                  = 2
	ortCreateEnv                        = 3
	ortCreateSession                    = 7
	ortRun                              = 9
	ortCreateSessionOptions             = 10
	ortSetSessionExecutionMode          = 13
	ortSetSessionGraphOptimizationLevel = 23
	ortSetIntraOpNumThreads             = 24
	ortSetInterOpNumThreads             = 25
	ortSessionGetInputCount             = 30
	ortSessionGetOutputCount            = 31
	ortSessionGetInputTypeInfo          = 33
	ortSessionGetInputName              = 36
	ortSessionGetOutputName             = 37
	ortCreateTensorWithDataAsOrtValue   = 49
	ortCastTypeInfoToTensorInfo         = 55
	ortGetTensorElementType             = 60
	ortGetDimensionsCount               = 61
	ortGetDimensions                    = 62
	ortGetTensorTypeAndShape            = 65
	ortCreateCpuMemoryInfo              = 69
	ortAllocatorFree                    = 76
	ortGetAllocatorWithDefaultOptions   = 78
	ortReleaseStatus                    = 93
	ortReleaseSession                   = 95
	ortReleaseValue                     = 96
	ortReleaseTypeInfo                  = 98
	ortReleaseTensorTypeAndShapeInfo    = 99
	ortReleaseSessionOptions            = 100
	ortPlaces                           = 101 // of which we know
)

// Values of the interface.
const (
	ortLogErrors      = 3
	ortSequential     = 0
	ortOptimizeAll    = 99
	ortArenaAllocator = 1
	ortDefaultMemory  = 0
)

// elementTypes are the element types of tensors, by the codes of ONNX.
var elementTypes = map[uint32]tensor.DType{
	1: tensor.Float32, 2: tensor.UInt8, 3: tensor.Int8, 6: tensor.Int32, 7: tensor.Int64, 10: tensor.Float16,
}

// An ort is ONNX Runtime, loaded.
type ort struct {
	version string
	api     *[ortPlaces]uintptr
	env     uintptr
	memory  uintptr // says that buffers are in main memory
	free    uintptr // the allocator that names come from
}

// pointer makes a pointer of an address that C gave.
func pointer[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// goString copies a string of C.
func goString(address uintptr) string {
	var b []byte
	for ; address != 0; address++ {
		c := *pointer[byte](address)
		if c == 0 {
			break
		}
		b = append(b, c)
	}
	return string(b)
}

func cString(s string) []byte { return append([]byte(s), 0) }

// address returns where something lies, for C. It lies on the heap then, since
// anyone may find it here: a stack moves when it grows.
func address[T any](p *T) uintptr {
	anyone = unsafe.Pointer(p)
	return uintptr(anyone)
}

var anyone unsafe.Pointer

// loadORT loads the shared library.
func loadORT(path string) (*ort, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	get, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return nil, err
	}
	base, _, _ := purego.SyscallN(get)
	functions := pointer[[2]uintptr](base) // the table of a version, and the version of the library
	api, _, _ := purego.SyscallN(functions[0], ortVersion)
	version, _, _ := purego.SyscallN(functions[1])
	o := &ort{version: goString(version)}
	if api == 0 {
		return nil, fmt.Errorf("ONNX Runtime %s does not have version %d of its interface", o.version, ortVersion)
	}
	o.api = pointer[[ortPlaces]uintptr](api)
	name := cString("peers")
	err = errors.Join(
		o.call(ortCreateEnv, ortLogErrors, address(&name[0]), address(&o.env)),
		o.call(ortCreateCpuMemoryInfo, ortArenaAllocator, ortDefaultMemory, address(&o.memory)),
		o.call(ortGetAllocatorWithDefaultOptions, address(&o.free)))
	runtime.KeepAlive(name)
	return o, err
}

// call calls a function that returns a status.
func (o *ort) call(place int, args ...uintptr) error {
	status, _, _ := purego.SyscallN(o.api[place], args...)
	if status == 0 {
		return nil
	}
	message, _, _ := purego.SyscallN(o.api[ortGetErrorMessage], status)
	err := errors.New("ONNX Runtime: " + goString(message))
	o.release(ortReleaseStatus, status)
	return err
}

// release calls a function that returns nothing.
func (o *ort) release(place int, thing uintptr) { purego.SyscallN(o.api[place], thing) }

// An ortSession is a model of ONNX Runtime with buffers of ours.
type ortSession struct {
	o       *ort
	session uintptr
	inputs  []ortPort
	outputs []ortPort
	args    [8]uintptr // of the function that runs it
	keep    []any      // what the arguments point at
}

type ortPort struct {
	name  string
	t     *tensor.Tensor
	value uintptr
}

// open loads a model: all optimizations of the graph, one operation at a time, on
// a number of threads.
func (o *ort) open(path string, threads int) (*ortSession, error) {
	var options uintptr
	if err := o.call(ortCreateSessionOptions, address(&options)); err != nil {
		return nil, err
	}
	defer o.release(ortReleaseSessionOptions, options)
	s := &ortSession{o: o}
	file := cString(path)
	err := errors.Join(
		o.call(ortSetSessionGraphOptimizationLevel, options, ortOptimizeAll),
		o.call(ortSetSessionExecutionMode, options, ortSequential),
		o.call(ortSetIntraOpNumThreads, options, uintptr(threads)),
		o.call(ortSetInterOpNumThreads, options, 1))
	if err == nil {
		err = o.call(ortCreateSession, o.env, address(&file[0]), options, address(&s.session))
	}
	runtime.KeepAlive(file)
	if err != nil {
		return nil, err
	}
	if s.inputs, err = s.ports(ortSessionGetInputCount, ortSessionGetInputName); err == nil {
		s.outputs, err = s.ports(ortSessionGetOutputCount, ortSessionGetOutputName)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *ortSession) ports(count, name int) ([]ortPort, error) {
	var n uintptr
	if err := s.o.call(count, s.session, address(&n)); err != nil {
		return nil, err
	}
	ports := make([]ortPort, n)
	for i := range ports {
		var text uintptr
		if err := s.o.call(name, s.session, uintptr(i), s.o.free, address(&text)); err != nil {
			return nil, err
		}
		ports[i].name = goString(text)
		if err := s.o.call(ortAllocatorFree, s.o.free, text); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// bind gives the inputs their values, converted to the types that the model wants,
// runs once to learn the shapes of the outputs, and makes buffers for these.
func (s *ortSession) bind(values map[string]*tensor.Tensor) error {
	for i := range s.inputs {
		p := &s.inputs[i]
		v, ok := values[p.name]
		if !ok {
			return fmt.Errorf("the twin's input %s is not one of ours", p.name)
		}
		kind, err := s.inputType(i)
		if err == nil {
			v, err = v.Convert(kind)
		}
		if err == nil {
			err = s.give(p, v)
		}
		if err != nil {
			return fmt.Errorf("the twin's input %s: %w", p.name, err)
		}
	}
	s.prepare()
	if err := s.run(); err != nil {
		return err
	}
	made := *pointer[[64]uintptr](s.args[7])
	for i := range s.outputs {
		p := &s.outputs[i]
		kind, shape, err := s.typeOf(made[i])
		if err == nil {
			err = s.give(p, tensor.New(kind, shape...))
		}
		if err != nil {
			return fmt.Errorf("the twin's output %s: %w", p.name, err)
		}
		s.o.release(ortReleaseValue, made[i])
	}
	s.prepare()
	return nil
}

// give makes a tensor the buffer of a port.
func (s *ortSession) give(p *ortPort, t *tensor.Tensor) error {
	code := uint32(0)
	for c, d := range elementTypes {
		if d == t.DType() {
			code = c
		}
	}
	p.t = t.Dense()
	dims := make([]int64, len(t.Shape())+1) // at least one, to have an address
	for i, d := range t.Shape() {
		dims[i] = int64(d)
	}
	start, size := p.t.Memory()
	err := s.o.call(ortCreateTensorWithDataAsOrtValue, s.o.memory, address(start), uintptr(size),
		address(&dims[0]), uintptr(len(dims)-1), uintptr(code), address(&p.value))
	runtime.KeepAlive(dims)
	return err
}

// prepare makes the arguments of the function that runs the session.
func (s *ortSession) prepare() {
	s.keep = nil
	lists := [4][]uintptr{} // names and values of inputs and outputs
	for side, ports := range [2][]ortPort{s.inputs, s.outputs} {
		names, values := make([]uintptr, 64), make([]uintptr, 64)
		for i, p := range ports {
			name := cString(p.name)
			s.keep = append(s.keep, name)
			names[i], values[i] = address(&name[0]), p.value
		}
		s.keep = append(s.keep, names, values)
		lists[2*side], lists[2*side+1] = names, values
	}
	s.args = [8]uintptr{
		s.session, 0, address(&lists[0][0]), address(&lists[1][0]), uintptr(len(s.inputs)),
		address(&lists[2][0]), uintptr(len(s.outputs)), address(&lists[3][0]),
	}
}

// run computes the outputs from the inputs.
func (s *ortSession) run() error { return s.o.call(ortRun, s.args[:]...) }

func (s *ortSession) inputType(i int) (tensor.DType, error) {
	var info, described uintptr
	if err := s.o.call(ortSessionGetInputTypeInfo, s.session, uintptr(i), address(&info)); err != nil {
		return 0, err
	}
	defer s.o.release(ortReleaseTypeInfo, info)
	var code uint32
	err := s.o.call(ortCastTypeInfoToTensorInfo, info, address(&described))
	if err == nil {
		err = s.o.call(ortGetTensorElementType, described, address(&code))
	}
	return elementTypes[code], err
}

func (s *ortSession) typeOf(value uintptr) (tensor.DType, []int, error) {
	var described, n uintptr
	if err := s.o.call(ortGetTensorTypeAndShape, value, address(&described)); err != nil {
		return 0, nil, err
	}
	defer s.o.release(ortReleaseTensorTypeAndShapeInfo, described)
	var code uint32
	err := errors.Join(
		s.o.call(ortGetTensorElementType, described, address(&code)),
		s.o.call(ortGetDimensionsCount, described, address(&n)))
	dims := make([]int64, n+1)
	if err == nil {
		err = s.o.call(ortGetDimensions, described, address(&dims[0]), n)
	}
	shape := make([]int, n)
	for i := range shape {
		shape[i] = int(dims[i])
	}
	return elementTypes[code], shape, err
}

func (s *ortSession) close() {
	for _, p := range append(s.inputs, s.outputs...) {
		if p.value != 0 {
			s.o.release(ortReleaseValue, p.value)
		}
	}
	s.o.release(ortReleaseSession, s.session)
}
