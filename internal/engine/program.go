package engine

import (
	"runtime"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/kernel/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A Program is a container made ready to run. Running does not change it, so it
// may serve any number of contexts at the same time.
type Program struct {
	ports    []Port
	memories []memory // on-chip memory first
	bases    *[hwx.BaseCount]uint64
	numerics hal.Numerics

	steps   []step
	scratch strided.Need // of operations of version 256
	buffers bufferSizes

	weights     map[weightKey]*weightSet // shared by tasks that load the same streams
	tables      map[weightKey]*activation
	weightBytes int64

	runs int64   // while loading: how many countRuns has seen
	work float64 // while loading: the steps of the tasks so far
}

// A step is one task, bound.
type step interface {
	run(c *Context)
}

// A Port is a tensor that the caller provides or gets.
type Port struct {
	Name    string
	Output  bool
	Shape   [4]int // N, C, H, W
	Strides [4]int // bytes
	Type    tensor.DType

	memory int
}

// Len is the number of elements.
func (p *Port) Len() int { return p.Shape[0] * p.Shape[1] * p.Shape[2] * p.Shape[3] }

// Load makes a container ready to run with the given numerics. The container
// must stay open and unchanged as long as the program is in use.
//
// An error that a program is to blame for is an *Error, or the format error of
// package hwx or td.
func Load(file *hwx.File, n hal.Numerics) (*Program, error) {
	target, err := hal.BySubtype(file.Header.CPUSubtype)
	if err != nil {
		return nil, err
	}
	thread, err := file.Program()
	if err != nil {
		return nil, err
	}
	ports, err := file.Ports()
	if err != nil {
		return nil, err
	}
	p := &Program{bases: thread.Bases, numerics: n, weights: make(map[weightKey]*weightSet), tables: make(map[weightKey]*activation)}
	if p.memories, err = mapMemory(file, ports, target.Sizes.OnChip); err != nil {
		return nil, err
	}
	for _, port := range ports {
		if err := p.addPort(&port); err != nil {
			return nil, err
		}
	}
	textSection := file.Text()
	version := td.Version(target.TaskVersion)
	tasks, err := td.DecodeStream(version, textSection.Data, int(thread.FirstTask-textSection.Addr), thread.FirstTaskWords)
	if err != nil {
		return nil, err
	}
	if len(tasks) != thread.Tasks {
		return nil, programError("the list has %d tasks, the program thread says %d", len(tasks), thread.Tasks)
	}
	switch version {
	case td.V7:
		err = p.bindV7(tasks)
	case td.V256:
		err = p.bindVirtual(tasks)
	default:
		err = programError("tasks of %v are not executed", version)
	}
	if err != nil {
		return nil, err
	}
	// What no task writes, none reads: a context need not have all that the chip
	// has.
	p.memories[onChipIndex].size = p.memories[onChipIndex].reach
	if n := p.dispatchBytes(); n > maxDispatchBytes {
		return nil, programError("a dispatch needs %#x bytes; want %#x or less", n, int64(maxDispatchBytes))
	}
	for i := range p.memories {
		p.memories[i].written = coverage{}
	}
	return p, nil
}

func (p *Program) addPort(port *hwx.Port) error {
	index, offset, ok := p.find(port.Addr)
	if !ok || offset != 0 {
		return programError("port %q: no memory begins at %#x", port.Name, port.Addr)
	}
	q := Port{
		Name: port.Name, Output: port.Direction == hwx.Out, Shape: port.Shape,
		Type: port.Element.DType(), memory: index,
	}
	for i, s := range port.Strides {
		q.Strides[i] = int(s)
	}
	if _, ok := tensor.Count(q.Shape[:]); !ok || q.Type.Size() == 0 {
		return programError("port %q: shape %d of %v", port.Name, q.Shape, q.Type)
	}
	p.ports = append(p.ports, q)
	return nil
}

// Ports lists the ports in the order of the container.
func (p *Program) Ports() []Port { return slices.Clone(p.ports) }

// bufferSizes are the sizes of the dense buffers that kernels work in, in
// elements.
type bufferSizes struct {
	source1, source2, result, weights int64
}

// grow makes the buffers large enough for another step.
func (b *bufferSizes) grow(o bufferSizes) {
	b.source1 = max(b.source1, o.source1)
	b.source2 = max(b.source2, o.source2)
	b.result = max(b.result, o.result)
	b.weights = max(b.weights, o.weights)
}

// dispatchBytes is the memory of a context.
func (p *Program) dispatchBytes() int64 {
	n := 4 * (p.buffers.source1 + p.buffers.source2 + p.buffers.result + p.buffers.weights)
	n += p.scratch.Bytes() * int64(runtime.GOMAXPROCS(0))
	for i := range p.memories {
		if m := &p.memories[i]; m.kind != constant && m.kind != text {
			n += int64(m.size)
		}
	}
	return n
}
