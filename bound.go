package espalier

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// A boundOperation is an operation of the runtime with memory of the caller: at a port that has its element type, or whose
// engine takes it as it lies, the memory is that of the operation; elsewhere its elements are moved before and after the run.
//
//	x []float32 ─────────────────────► port x  fp32   the same memory
//	x fp16, rows of 64 bytes ────────► engine  fp16   the same memory, and no cast
//	w []float64 ──move──► own buffer = port w  fp32
//	port y  fp16 = own buffer ──move──► y []float32
type boundOperation struct {
	of              *compiled
	operation       *e5rt.Operation
	execute         func(context.Context, *e5rt.State) error // runs the operation
	inputs, outputs []boundPort
	taken           bool // the ports have what a caller gave
}

// A boundPort is a port with what the caller gave for it.
type boundPort struct {
	feature coreml.Feature
	own     *tensor.Tensor // the buffer that the operation made for it; nil if the port has no layout
	alone   bool           // no other port has that buffer
	given   any
	direct  bool   // given is the buffer
	moves   []move // to the buffer before a run, or from it afterwards
	remake  bool   // what was given is read anew for each run, or the output made as Predict does: both allocate
}

func newBoundOperation(c *compiled) (*boundOperation, error) {
	b := &boundOperation{of: c, operation: c.function.NewOperation()}
	b.execute = b.operation.Run
	owners := map[*byte]int{}
	for _, side := range []struct {
		ports    *[]boundPort
		features []coreml.Feature
	}{{&b.inputs, c.features.Inputs}, {&b.outputs, c.features.Outputs}} {
		for _, d := range side.features {
			p := boundPort{feature: d}
			v, err := b.operation.Value(d.Name)
			if err != nil {
				return nil, err
			}
			if t, ok := v.(*tensor.Tensor); ok && t != nil {
				start, _ := t.Memory()
				owners[start]++
				p.own = t
			}
			*side.ports = append(*side.ports, p)
		}
	}
	for _, ports := range [][]boundPort{b.inputs, b.outputs} {
		for i := range ports {
			if p := &ports[i]; p.own != nil && p.own.Len() > 0 {
				start, _ := p.own.Memory()
				p.alone = owners[start] == 1
			}
		}
	}
	return b, nil
}

// bind takes an operation that a call before has released, or makes one.
func (c *compiled) bind(ctx context.Context, inputs, outputs map[string]any) (bound, error) {
	b, err := c.bound.TakeOut()
	if err != nil {
		return nil, err
	}
	if b.taken && b.has(inputs, outputs) {
		return b, nil
	}
	if err := b.take(ctx, inputs, outputs); err != nil {
		return nil, err // it has memory of two callers now, and is dropped
	}
	b.taken = true
	return b, nil
}

// release keeps the operation for the next call.
func (b *boundOperation) release() { b.of.bound.PutBack(b) }

// has reports whether the operation has this memory already.
func (b *boundOperation) has(inputs, outputs map[string]any) bool {
	for i := range b.inputs {
		if !sameMemory(b.inputs[i].given, inputs[b.inputs[i].feature.Name]) {
			return false
		}
	}
	for i := range b.outputs {
		if !sameMemory(b.outputs[i].given, outputs[b.outputs[i].feature.Name]) {
			return false
		}
	}
	return true
}

// sameMemory reports whether two things that a caller gave are one tensor, or one slice.
func sameMemory(a, b any) bool {
	if t, ok := a.(*tensor.Tensor); ok {
		other, ok := b.(*tensor.Tensor)
		return ok && t == other
	}
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if !v.IsValid() || !w.IsValid() {
		return v.IsValid() == w.IsValid()
	}
	return v.Type() == w.Type() && v.Kind() == reflect.Slice && v.Len() == w.Len() && v.UnsafePointer() == w.UnsafePointer()
}

// take gives every port its memory. An input may have that of an output: the runtime sees to it where both are buffers,
// and a move is before the run or after it.
func (b *boundOperation) take(ctx context.Context, inputs, outputs map[string]any) error {
	var taken []memoryRange
	for i := range b.outputs {
		p := &b.outputs[i]
		if err := p.reset(b.operation, outputs[p.feature.Name]); err != nil {
			return err
		}
		if err := b.takeOutput(p, &taken); err != nil {
			return &OutputError{p.feature.Name, err}
		}
	}
	for i := range b.inputs {
		p := &b.inputs[i]
		err := p.reset(b.operation, inputs[p.feature.Name])
		if err == nil {
			err = b.takeInput(ctx, p)
		}
		if err != nil {
			return &InputError{Name: p.feature.Name, Missing: p.given == nil, Err: err}
		}
	}
	return nil
}

// reset gives a port its own buffer back.
func (p *boundPort) reset(o *e5rt.Operation, given any) error {
	wasDirect := p.direct
	p.given, p.direct, p.moves, p.remake = given, false, nil, false
	if wasDirect {
		return o.Bind(p.feature.Name, p.own)
	}
	return nil
}

// use makes memory of the caller that of a port, if it can be: it has the element type that the feature declares, or one that
// fits into it without a loss, and lies as the port or the engine behind it takes it.
func (b *boundOperation) use(p *boundPort, t *tensor.Tensor, declared tensor.DType) (used bool, err error) {
	if !p.alone || !mayBe(t.DType(), declared) || t.DType().Size() == 0 {
		return false, nil
	}
	if !slices.Equal(t.Shape(), p.own.Shape()) {
		if !t.Contiguous() {
			return false, nil
		}
		if t, err = t.Reshape(p.own.Shape()...); err != nil {
			return false, err
		}
	}
	if err = b.operation.Bind(p.feature.Name, t); errors.Is(err, e5rt.ErrLayout) {
		return false, nil
	}
	p.direct = err == nil
	return p.direct, err
}

func (b *boundOperation) takeInput(ctx context.Context, p *boundPort) error {
	if t, declared := stridedMemory(p.feature, p.given); t != nil && p.own != nil {
		if used, err := b.use(p, t, declared); used || err != nil {
			return err
		}
	}
	t, declared, err := inputMemory(p.feature, p.given)
	if err != nil {
		return err
	}
	if t == nil || p.own == nil { // not an array that stays where it is
		p.remake = p.given != nil
		return b.setInput(ctx, p)
	}
	if t, err = fitShape(t, b.of.arguments[p.feature.Name]); err != nil {
		return err
	}
	if used, err := b.use(p, t, declared); used || err != nil {
		return err
	}
	p.moves, err = movesBetween(t, declared, p.own, true)
	return err
}

// setInput makes an input of what was given, as Predict does.
func (b *boundOperation) setInput(ctx context.Context, p *boundPort) error {
	t, err := b.of.features.array(ctx, p.feature, p.given)
	if err == nil {
		t, err = fitProgram(t, b.of.arguments[p.feature.Name])
	}
	if err != nil {
		return err
	}
	return b.operation.Set(p.feature.Name, t)
}

func (b *boundOperation) takeOutput(p *boundPort, taken *[]memoryRange) error {
	if p.given == nil {
		return nil
	}
	t, err := outputMemory(p.given, taken)
	if err != nil {
		return err
	}
	if p.own == nil {
		p.remake = true
		return nil
	}
	declared := outputDType(p.feature, p.own.DType())
	if !t.Contiguous() {
		if used, err := b.use(p, t, declared); used || err != nil {
			return err
		}
		return apart(t)
	}
	if t, err = fitOutput(t, declared, p.own.Shape()); err != nil {
		return err
	}
	if used, err := b.use(p, t, declared); used || err != nil {
		return err
	}
	p.moves, err = movesBetween(p.own, declared, t, false)
	return err
}

// run reads the inputs, runs the operation, and fills the outputs.
func (b *boundOperation) run(ctx context.Context, s states) error {
	for i := range b.inputs {
		p := &b.inputs[i]
		err := p.move()
		if p.remake {
			err = b.setInput(ctx, p)
		}
		if err != nil {
			return &InputError{Name: p.feature.Name, Err: err}
		}
	}
	held, _ := s.(*e5rt.State)
	if err := b.execute(ctx, held); err != nil {
		return err
	}
	for i := range b.outputs {
		p := &b.outputs[i]
		err := p.move()
		if p.remake {
			err = b.remakeOutput(p)
		}
		if err != nil {
			return &OutputError{p.feature.Name, err}
		}
	}
	return nil
}

func (p *boundPort) move() error {
	for i := range p.moves {
		if err := p.moves[i].run(); err != nil {
			return err
		}
	}
	return nil
}

// remakeOutput makes an output that has no layout, and copies it.
func (b *boundOperation) remakeOutput(p *boundPort) error {
	v, err := b.operation.Value(p.feature.Name)
	if err != nil {
		return err
	}
	made, err := newValue(p.feature, v)
	if err != nil {
		return err
	}
	return copyOutput(made, p.given)
}

// movesBetween are the moves of elements that have another type on the way, which is that of the feature. The step on the
// caller's side is checked.
func movesBetween(from *tensor.Tensor, by tensor.DType, to *tensor.Tensor, input bool) ([]move, error) {
	from, err := from.Reshape(to.Shape()...) // both are dense: it is a view
	if err != nil {
		return nil, err
	}
	switch {
	case by == from.DType():
		return []move{{to, from, !input}}, nil
	case by == to.DType():
		return []move{{to, from, input}}, nil
	}
	middle := tensor.New(by, to.Shape()...)
	return []move{{middle, from, input}, {to, middle, !input}}, nil
}
