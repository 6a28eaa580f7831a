package e5rt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// A slot is a symbol of a function: a value that operations hand on.
//
// A value with a layout has a buffer. Slots of which a Cast makes one from the
// other without any change share theirs, that of the root:
//
//	x (port) ── Cast ── x__engine ── AneInference ── y__engine ── Cast ── y (port)
//	└──── one buffer ──┘                             └──── one buffer ───┘
type slot struct {
	symbol  string
	opaque  bool           // no layout: the host's
	storage e5.ElementType // of which the elements have the width
	typ     tensor.DType   // of the root: of the elements
	shape   []int
	size    int // bytes
	root    int
	state   int  // index among the states, -1 if it is none
	port    bool // of the function, a state not counted
	defined bool // while planning: something before has written it
}

// maxCallBytes bounds the buffers of a call. It is what the engine takes for a
// dispatch.
const maxCallBytes = 4 << 30

// A planner makes a function ready.
type planner struct {
	*loader
	f        *Function
	function *e5.Function
	manifest *bundle.Function
	segment  int // the next one of the manifest

	isState  map[string]bool
	isOutput map[int]bool             // slots
	arrays   map[string]*bundle.Array // of the features that have one
}

func (l *loader) function(described *e5.Function, m *bundle.Function) (*Function, error) {
	p := &planner{
		loader: l, f: &Function{library: l.library, name: described.Name, symbols: map[string]int{}, threads: l.threads},
		function: described, manifest: m,
		isState: map[string]bool{}, isOutput: map[int]bool{}, arrays: map[string]*bundle.Array{},
	}
	for _, list := range [][]bundle.Feature{m.Inputs, m.Outputs, m.States} {
		for _, feature := range list {
			p.arrays[feature.Name] = feature.Array
		}
	}
	for _, state := range m.States {
		p.isState[state.Name] = true
	}
	fail := func(operation, symbol string, err error) (*Function, error) {
		if e, ok := err.(*Error); ok { // about a container
			e.Function, e.Operation = described.Name, operation
			return nil, e
		}
		return nil, &Error{Function: described.Name, Operation: operation, Symbol: symbol, Err: err}
	}
	for _, op := range described.Operations() {
		for _, operands := range [][]e5.Operand{op.Inputs, op.Outputs} {
			for i := range operands {
				if err := p.note(&operands[i]); err != nil {
					return fail(op.Name, operands[i].Symbol, err)
				}
			}
		}
	}
	if symbol, err := p.inputPorts(); err != nil {
		return fail("", symbol, err)
	}
	for _, op := range described.Operations() {
		if symbol, err := p.operation(op); err != nil {
			return fail(op.Name, symbol, err)
		}
	}
	if symbol, err := p.outputPorts(); err != nil {
		return fail("", symbol, err)
	}
	if s, err := p.shareBuffers(); err != nil {
		return fail(s.operation, "", err)
	}
	p.describePorts()
	if operation, symbol, err := p.f.checkBytes(p.limits.MaxMemory(osfile.MemoryLimit)); err != nil {
		return fail(operation, symbol, err)
	}
	return p.f, nil
}

// checkBytes bounds the memory of an operation: the buffers of slots, surfaces, and
// what the programs need beside them.
func (f *Function) checkBytes(allowed int64) (operation, symbol string, err error) {
	total := 0
	add := func(bytes int) error {
		if total += bytes; bytes > maxCallBytes || total > maxCallBytes {
			return fmt.Errorf("%d bytes; want %d or less for all buffers", bytes, int64(maxCallBytes))
		}
		return nil
	}
	for i := range f.slots {
		if s := &f.slots[i]; s.root == i {
			if err := add(s.size); err != nil {
				return "", s.symbol, err
			}
		}
	}
	own := int64(0)
	counted := map[*engine.Program]bool{}
	for _, s := range f.steps {
		do, ok := s.do.(*engineStep)
		if !ok {
			continue
		}
		if !counted[do.program] {
			own += do.program.OwnBytes()
			counted[do.program] = true
		}
		for port, padded := range do.padded {
			if padded == nil {
				continue
			}
			if err := add(padded.bytes); err != nil {
				return s.operation, f.slots[do.slots[port]].symbol, err
			}
		}
	}
	if need := int64(total) + own; need > allowed {
		return "", "", &limit.Error{Resource: limit.Memory, What: "a call", Asked: need, Allowed: allowed}
	}
	return "", "", nil
}

// note makes the slot of an operand, or holds the operand to the slot that its
// symbol has already.
func (p *planner) note(o *e5.Operand) error {
	s := slot{symbol: o.Symbol, state: -1, storage: o.Tensor.StorageType}
	if s.opaque = o.Tensor.IsOpaque(); !s.opaque {
		var ok bool
		if s.shape, s.size, ok = o.Tensor.Dense(); !ok {
			return fmt.Errorf("its elements do not lie side by side: extents %v, strides %v of %v", o.Tensor.Dim, o.Tensor.Stride, o.Tensor.StorageType)
		}
		s.typ = s.storage.DType()
	}
	i, ok := p.f.symbols[o.Symbol]
	if !ok {
		return p.add(s)
	}
	if old := &p.f.slots[i]; old.opaque != s.opaque || old.storage != s.storage || !slices.Equal(old.shape, s.shape) {
		return fmt.Errorf("it is %v here, and was %v before", &s, old)
	}
	return nil
}

func (p *planner) add(s slot) error {
	if s.symbol == "" {
		return errors.New("the symbol has no name")
	}
	s.root = len(p.f.slots)
	p.f.symbols[s.symbol] = s.root
	p.f.slots = append(p.f.slots, s)
	return nil
}

func (s *slot) String() string {
	if s.opaque {
		return "a value of the host"
	}
	return s.storage.String() + tensor.ShapeOf(s.shape...).String()
}

// inputPorts finds the slots of inputs and states.
func (p *planner) inputPorts() (symbol string, err error) {
	for i := range p.function.Inputs {
		port := &p.function.Inputs[i]
		n, err := p.portSlot(port)
		if err != nil {
			return port.Name, err
		}
		s := &p.f.slots[n]
		if s.defined {
			return port.Name, errors.New("there are two inputs of the name")
		}
		s.defined = true
		if p.isState[port.Name] {
			if s.opaque {
				return port.Name, errors.New("a state without a layout")
			}
			s.state = len(p.f.states)
			p.f.states = append(p.f.states, n)
			continue
		}
		s.port = true
		p.f.inputs = append(p.f.inputs, n)
	}
	for _, state := range p.manifest.States {
		if i, ok := p.f.symbols[state.Name]; !ok || p.f.slots[i].state < 0 {
			return state.Name, errors.New("the manifest has a state of the name, and the descriptor no input")
		}
	}
	return "", nil
}

// outputPorts finds the slots of outputs. A state may be listed there too.
func (p *planner) outputPorts() (symbol string, err error) {
	for i := range p.function.Outputs {
		port := &p.function.Outputs[i]
		n, err := p.portSlot(port)
		if err != nil {
			return port.Name, err
		}
		s := &p.f.slots[n]
		switch {
		case s.state >= 0:
			continue
		case !s.defined:
			return port.Name, errors.New("no operation writes the output")
		case p.isOutput[n]:
			return port.Name, errors.New("there are two outputs of the name")
		}
		s.port, p.isOutput[n] = true, true
		p.f.outputs = append(p.f.outputs, n)
	}
	return "", nil
}

// portSlot finds the slot of a port. Of one that no operation uses, the manifest
// knows the type.
func (p *planner) portSlot(port *e5.IOPort) (int, error) {
	n, ok := p.f.symbols[port.Name]
	if !ok {
		if port.ByteSize > maxCallBytes {
			return 0, fmt.Errorf("a port of %d bytes; want %d or less", port.ByteSize, int64(maxCallBytes))
		}
		size := int(port.ByteSize)
		s := slot{symbol: port.Name, state: -1, storage: e5.UInt8, typ: tensor.UInt8, shape: []int{size}, size: size}
		if a := p.arrays[port.Name]; a != nil {
			s.describe(a)
		}
		if err := p.add(s); err != nil {
			return 0, err
		}
		n = p.f.symbols[port.Name]
	}
	if s := &p.f.slots[n]; port.ByteSize != uint64(s.size) {
		return 0, fmt.Errorf("a port of %d bytes for %v, which has %d", port.ByteSize, s, s.size)
	}
	return n, nil
}

// describePorts gives ports that neither a container nor the host uses the types of their features: casts alone, which do not
// tell bool from uint8.
func (p *planner) describePorts() {
	for _, i := range slices.Concat(p.f.inputs, p.f.outputs, p.f.states) {
		s := &p.f.slots[i]
		a, root := p.arrays[s.symbol], &p.f.slots[s.root]
		if a == nil || s.opaque || root.typ != s.storage.DType() {
			continue
		}
		if d, err := tensor.ParseDType(a.Type); err == nil {
			if storage, ok := e5.StorageTypeOf(d); ok && storage == s.storage {
				root.typ = d
			}
		}
	}
}

// describe gives a slot of the right size the type that a feature has.
func (s *slot) describe(a *bundle.Array) {
	d, err := tensor.ParseDType(a.Type)
	if err != nil {
		return
	}
	t, err := e5.Dense(d, a.Shape...)
	if err != nil {
		return
	}
	if shape, size, ok := t.Dense(); ok && size == s.size {
		s.shape, s.storage, s.typ = shape, t.StorageType, d
	}
}

// read finds the slot of an input operand, which must have a value.
func (p *planner) read(o *e5.Operand) (int, error) {
	i := p.f.symbols[o.Symbol]
	if !p.f.slots[i].defined {
		return 0, errors.New("it is read, and no operation before has written it")
	}
	return i, nil
}

// write finds the slot of an output operand. Only states are written twice.
func (p *planner) write(o *e5.Operand) (int, error) {
	i := p.f.symbols[o.Symbol]
	s := &p.f.slots[i]
	if s.defined && s.state < 0 {
		return 0, errors.New("it is written a second time")
	}
	s.defined = true
	return i, nil
}

// refine notes what a container or the host program knows of the elements of a
// slot: the descriptor has only their width.
func (p *planner) refine(i int, d tensor.DType) error {
	s := &p.f.slots[i]
	root := &p.f.slots[s.root]
	storage, ok := e5.StorageTypeOf(d)
	switch {
	case !ok || storage != s.storage:
		return fmt.Errorf("elements of type %v, and %v in the descriptor", d, s.storage)
	case root.typ == s.storage.DType():
		root.typ = d
	case d != s.storage.DType() && d != root.typ:
		return fmt.Errorf("elements of type %v, and %v elsewhere", d, root.typ)
	}
	return nil
}
