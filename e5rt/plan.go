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
// A value with a layout has memory. Slots of which a Cast makes one from the
// other without any change share theirs, that of the root:
//
//	x (port) ── Cast ── x__engine ── AneInference ── y__engine ── Cast ── y (port)
//	└──── one memory ──┘                             └──── one memory ───┘
type slot struct {
	symbol  string
	opaque  bool           // no layout: the host's
	storage e5.ElementType // of which the elements have the width
	typ     tensor.DType   // of the root: of the elements
	shape   []int
	strides []int // bytes
	loops   []loop
	size    int // bytes, gaps included
	needs   int // of them, by the programs that use it; the gap behind the last row is often nobody's
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
	p.f.mutable.weights = m.Mutable
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
	if s, err := p.shareMemory(); err != nil {
		return fail(s.operation, "", err)
	}
	p.describePorts()
	if s, err := p.makeMoves(); err != nil {
		return fail(s.operation, "", err)
	}
	p.f.findDirect()
	if operation, symbol, err := p.f.checkBytes(p.limits.MaxMemory(osfile.MemoryLimit)); err != nil {
		return fail(operation, symbol, err)
	}
	return p.f, nil
}

// checkBytes bounds the memory of an operation: that of slots, and what the programs
// need beside it.
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
	}
	if need := int64(total) + own; need > allowed {
		return "", "", &limit.Error{Resource: limit.Memory, What: "a call", Asked: need, Allowed: allowed}
	}
	return "", "", nil
}

// note makes the slot of an operand, or holds the operand to the slot that its
// symbol has already.
func (p *planner) note(o *e5.Operand) error {
	s, err := newSlot(o.Symbol, &o.Tensor)
	if err != nil {
		return err
	}
	i, ok := p.f.symbols[o.Symbol]
	if !ok {
		return p.add(s)
	}
	if old := &p.f.slots[i]; !old.like(&s) {
		return fmt.Errorf("it is %v here, and was %v before", &s, old)
	}
	return nil
}

// newSlot makes the slot of a symbol that is described so.
func newSlot(symbol string, t *e5.TensorDescriptor) (s slot, err error) {
	s = slot{symbol: symbol, state: -1, storage: t.StorageType}
	if s.opaque = t.IsOpaque(); s.opaque {
		return s, nil
	}
	fail := func() (slot, error) {
		return s, fmt.Errorf("its elements cannot lie so: extents %v, strides %v of %v", t.Dim, t.Stride, t.StorageType)
	}
	var ok bool
	if s.shape, s.strides, s.size, ok = t.Layout(); !ok {
		return fail()
	}
	s.typ, s.loops = s.storage.DType(), loopsOf(s.shape, s.strides)
	for _, l := range s.loops {
		if width := s.typ.Size(); len(s.loops) > maxLoops || width > 0 && l.stride%width != 0 {
			return fail()
		}
	}
	return s, nil
}

// like reports whether two slots are of one shape and lie in the same way.
func (s *slot) like(o *slot) bool {
	return s.opaque == o.opaque && s.storage == o.storage && slices.Equal(s.shape, o.shape) && s.liesAs(o)
}

// liesAs reports whether the elements of two slots of one width are at the same bytes,
// of as many.
func (s *slot) liesAs(o *slot) bool {
	return s.size == o.size && count(s.shape) == count(o.shape) && slices.Equal(s.loops, o.loops)
}

// servesAs reports whether one memory can be that of both slots: they lie in the same
// way, and neither is too small for what the programs touch.
func (s *slot) servesAs(o *slot) bool {
	return count(s.shape) == count(o.shape) && slices.Equal(s.loops, o.loops) && max(s.needs, o.needs) <= min(s.size, o.size)
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
	text := s.storage.String() + tensor.ShapeOf(s.shape...).String()
	if n, _ := s.storage.DType().ByteLen(count(s.shape)); n != s.size || len(s.loops) > 1 {
		text += fmt.Sprintf(" with strides %v in %d bytes", s.strides, s.size)
	}
	return text
}

// layoutOf is the layout of a slot.
func (f *Function) layoutOf(i int) Layout {
	s := &f.slots[i]
	if s.opaque {
		return Layout{}
	}
	return Layout{Type: f.typeOf(i), Shape: s.shape, Strides: s.strides, Bytes: s.size}
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

// portSlot finds the slot of a port. Of one that no operation uses, the port knows
// the layout, or else the manifest the type.
func (p *planner) portSlot(port *e5.IOPort) (int, error) {
	n, ok := p.f.symbols[port.Name]
	if !ok {
		if port.ByteSize > maxCallBytes {
			return 0, fmt.Errorf("a port of %d bytes; want %d or less", port.ByteSize, int64(maxCallBytes))
		}
		s, err := p.unused(port)
		if err != nil {
			return 0, err
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

// unused is the slot of a port that no operation uses.
func (p *planner) unused(port *e5.IOPort) (slot, error) {
	if !port.Tensor.IsOpaque() {
		return newSlot(port.Name, &port.Tensor)
	}
	t, err := e5.Dense(tensor.UInt8, int(port.ByteSize))
	if err != nil {
		return slot{}, err
	}
	if a := p.arrays[port.Name]; a != nil {
		if d, err := tensor.ParseDType(a.Type); err == nil {
			if described, err := e5.Dense(d, a.Shape...); err == nil {
				if _, size, ok := described.Dense(); ok && uint64(size) == port.ByteSize {
					t = described
				}
			}
		}
	}
	return newSlot(port.Name, &t)
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
