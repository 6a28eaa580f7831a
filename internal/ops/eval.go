package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Evaluator runs a function on the host, operation by operation. It is safe for concurrent use.
type Evaluator struct {
	f        *mil.Function
	opset    Opset
	numerics Numerics
	limits   limit.Limits
	uses     map[*mil.Operation][]*mil.Value // values that nothing needs after the operation
	inPlace  map[*mil.Operation]*mil.Value   // operations that may write into the memory of a state

	mu     sync.Mutex
	consts map[*mil.Operation][]Value // results of const and constexpr operations
}

// NewEvaluator prepares a function that Verify has accepted.
func NewEvaluator(f *mil.Function, n Numerics) (*Evaluator, error) {
	o, err := ParseOpset(f.Opset)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.Name, err)
	}
	ev := &Evaluator{f: f, opset: o, numerics: n, consts: map[*mil.Operation][]Value{}, uses: map[*mil.Operation][]*mil.Value{}, inPlace: map[*mil.Operation]*mil.Value{}}
	ev.findLastUses(f.Body)
	ev.findInPlace()
	return ev, nil
}

// SetLimits says how much a run may need, before the first one. A *limit.Error is about one that would need more.
func (ev *Evaluator) SetLimits(l limit.Limits) { ev.limits = l }

// Run evaluates the function. Each input is bound by name: a tensor of the declared element type, held as
// it is or wider, a list or a state. It returns the outputs in the order of the function's body.
func (ev *Evaluator) Run(ctx context.Context, inputs map[string]Value) ([]Value, error) {
	h, release := haltWith(ctx)
	defer release()
	r := &run{Evaluator: ev, env: map[*mil.Value]Value{}, halt: h}
	for _, in := range ev.f.Inputs {
		v, ok := inputs[in.Name]
		if !ok {
			return nil, fmt.Errorf("function %s: input %q is missing", ev.f.Name, in.Name)
		}
		v, err := store(r.halt, v, in.Type, ev.numerics)
		if err != nil {
			return nil, fmt.Errorf("function %s: input %q: %w", ev.f.Name, in.Name, err)
		}
		r.env[in] = v
	}
	return r.block(ctx, ev.f.Body)
}

// run is one evaluation in progress.
type run struct {
	*Evaluator
	*halt
	env   map[*mil.Value]Value
	read  map[*mil.Value]bool // values in env that are as a state has them
	steps float64             // so far
}

func (r *run) block(ctx context.Context, b *mil.Block) ([]Value, error) {
	for _, op := range b.Operations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.operation(ctx, op); err != nil {
			var inner *Error
			if errors.As(err, &inner) || ctx.Err() != nil {
				return nil, err
			}
			return nil, &Error{Function: r.f.Name, Op: op, Err: err}
		}
		for _, v := range r.uses[op] {
			delete(r.env, v)
		}
	}
	out := make([]Value, len(b.Outputs))
	for i, v := range b.Outputs {
		out[i] = r.env[v]
		if out[i] == nil {
			return nil, fmt.Errorf("function %s: output %q has no value", r.f.Name, v.Name)
		}
	}
	return out, nil
}

func (r *run) operation(ctx context.Context, op *mil.Operation) error {
	results, cached := r.cached(op)
	if !cached {
		var err error
		if results, err = r.compute(ctx, op); err != nil {
			return err
		}
		r.cache(op, results)
	}
	for i, v := range op.Outputs {
		r.env[v] = results[i]
	}
	return nil
}

func (r *run) compute(ctx context.Context, op *mil.Operation) ([]Value, error) {
	if err := r.holdRead(op); err != nil {
		return nil, err
	}
	c, err := bind(op, r.opset, r)
	if err != nil {
		return nil, err
	}
	c.blocks, c.ctx, c.halt = r, ctx, r.halt
	c.inPlace = r.updatesInPlace(op)
	c.memory, c.inUse, c.charge = r.limits.Memory, r.memoryInUse, r.charge
	if c.outs, err = c.infer(); err != nil {
		return nil, err
	}
	if len(c.outs) != len(op.Outputs) {
		return nil, fmt.Errorf("the operation has %d outputs, found %d", len(c.outs), len(op.Outputs))
	}
	if op.Kind != "const" { // which is as large as the program's files
		if err := c.checkMemory(c.outs...); err != nil {
			return nil, err
		}
		if err := c.steps(c.work()); err != nil {
			return nil, err
		}
	}
	err = c.eval()
	if end := ctx.Err(); end != nil { // what the operation says is of what was left undone
		return nil, end
	}
	if err != nil {
		return nil, err
	}
	if len(c.results) != len(op.Outputs) {
		panic(fmt.Sprintf("bug: %s returned %d of %d results", op.Kind, len(c.results), len(op.Outputs)))
	}
	for i, v := range op.Outputs {
		if !mil.Compatible(c.outs[i], v.Type) {
			return nil, fmt.Errorf("value %q is declared %v, but the operation gives %v", v.Name, v.Type, c.outs[i])
		}
		if r.keepAsRead(c, c.results[i]) {
			continue
		}
		c.results[i], err = store(r.halt, c.results[i], refine(c.outs[i], v.Type), r.numerics)
		if end := ctx.Err(); end != nil {
			return nil, end
		}
		if err != nil {
			return nil, err
		}
	}
	return c.results, nil
}

// A state may have its value in memory of the caller (StateOver), in a narrower type than the evaluator holds, or with gaps. What
// is read of it stays there until an operation looks at elements: one that takes a part takes it of that memory, and only the part
// is converted.
//
//	cache = read_state(held)          fp16, the memory of the state
//	row = slice_by_index(x = cache)   fp32, a row
//	y = mul(x = row, y = …)

// keepAsRead reports whether a result is left as a state has it.
func (r *run) keepAsRead(c *Call, result Value) bool {
	t, ok := result.(*tensor.Tensor)
	if !ok || c.Op.Kind != "read_state" && !c.inPlace || t.DType() == held(t.DType()) && t.Contiguous() {
		return false
	}
	if r.read == nil {
		r.read = map[*mil.Value]bool{}
	}
	r.read[c.Op.Outputs[0]] = true
	return true
}

// holdRead converts the arguments of an operation that are as a state has them, unless it takes them so.
func (r *run) holdRead(op *mil.Operation) (err error) {
	if len(r.read) == 0 {
		return nil
	}
	if def := Lookup(op.Kind); def == nil || def.Views || r.updatesInPlace(op) {
		return nil
	}
	for _, in := range op.Inputs {
		for _, a := range in.Args {
			if a.Value == nil || !r.read[a.Value] {
				continue
			}
			if r.env[a.Value], err = store(r.halt, r.env[a.Value], a.Value.Type, r.numerics); err != nil {
				return err
			}
			delete(r.read, a.Value)
		}
	}
	return nil
}

// isConstant reports whether an operation's results are part of the program: const and the constexpr family.
func isConstant(op *mil.Operation) bool {
	return op.Kind == "const" || IsConstexpr(op.Kind)
}

// IsConstexpr reports whether an operation of the kind gives a weight that is stored in another form.
func IsConstexpr(kind string) bool { return strings.HasPrefix(kind, "constexpr_") }

func (ev *Evaluator) cached(op *mil.Operation) ([]Value, bool) {
	if !isConstant(op) {
		return nil, false
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	v, ok := ev.consts[op]
	return v, ok
}

func (ev *Evaluator) cache(op *mil.Operation, results []Value) {
	if !isConstant(op) {
		return
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	ev.consts[op] = results
}

func (r *run) value(v *mil.Value) (argument, error) {
	val, ok := r.env[v]
	if !ok {
		return argument{}, fmt.Errorf("value %q is used before it is defined", v.Name)
	}
	return argument{typ: concrete(v.Type, val), val: val, fixed: true}, nil
}

func (r *run) constant(k *mil.Constant) (argument, error) {
	val, err := constantValue(k)
	if err != nil {
		return argument{}, err
	}
	return argument{typ: concrete(k.Type, val), val: val, fixed: true}, nil
}

// concrete is the declared type of a value with the lengths that it has now.
func concrete(t mil.Type, v Value) mil.Type {
	switch tt := t.(type) {
	case *mil.TensorType:
		if x, ok := v.(*tensor.Tensor); ok {
			return &mil.TensorType{DType: tt.DType, Shape: tensor.ShapeOf(x.Shape()...)}
		}
	case *mil.ListType:
		if l, ok := v.(*List); ok {
			return &mil.ListType{Elem: tt.Elem, Length: tensor.Dim(len(l.Items))}
		}
	}
	return t
}

// inferBlock takes a nested block's word for its types: Verify has checked them, and its values do not
// exist yet.
func (r *run) inferBlock(b *mil.Block, args []mil.Type) ([]mil.Type, error) {
	types := make([]mil.Type, len(b.Outputs))
	for i, v := range b.Outputs {
		types[i] = v.Type
	}
	return types, nil
}

func (r *run) runBlock(ctx context.Context, b *mil.Block, args []Value) ([]Value, error) {
	if len(args) != len(b.Inputs) {
		return nil, fmt.Errorf("a nested block has %d inputs, expected %d", len(b.Inputs), len(args))
	}
	for i, v := range b.Inputs {
		stored, err := store(r.halt, args[i], v.Type, r.numerics)
		if err != nil {
			return nil, fmt.Errorf("input %q of a nested block: %w", v.Name, err)
		}
		r.env[v] = stored
	}
	return r.block(ctx, b)
}

// findLastUses notes after which operation of the block that defines it a value is needed no more. A
// use in a nested block counts as one of the operation that has the block.
func (ev *Evaluator) findLastUses(b *mil.Block) {
	last := map[*mil.Value]*mil.Operation{}
	for _, op := range b.Operations {
		for _, v := range op.Outputs {
			last[v] = op
		}
	}
	for _, op := range b.Operations {
		op.VisitUses(func(v *mil.Value) {
			if _, here := last[v]; here {
				last[v] = op
			}
		})
		for _, nested := range op.Blocks {
			ev.findLastUses(nested)
		}
	}
	for _, v := range b.Outputs {
		delete(last, v)
	}
	for v, op := range last {
		ev.uses[op] = append(ev.uses[op], v)
	}
}
