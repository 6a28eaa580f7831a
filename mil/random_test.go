package mil_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// TestRandomPrograms writes and reads programs that no compiler would make: every type, odd names, NaN of
// every kind, deep constants.
func TestRandomPrograms(t *testing.T) {
	for seed := range uint64(300) {
		g := &generator{rand.New(rand.NewPCG(seed, 0)), 0}
		p := &mil.Program{Version: []string{"1", "1.0", "1.3"}[g.IntN(3)], Attributes: g.attributes()}
		for range 1 + g.IntN(2) {
			p.Functions = append(p.Functions, g.function())
		}
		if err := mil.Verify(p); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		format(t, p)
	}
}

type generator struct {
	*rand.Rand
	names int
}

func (g *generator) name() string {
	g.names++
	prefix := []string{"v", "input-ids", "1x", "tensor", "fp16", "a b", "é", "\x00\"\\\n", "true", "nan", "BLOBFILE", "s"}
	return fmt.Sprintf("%s%d", prefix[g.IntN(len(prefix))], g.names)
}

func (g *generator) dtype() tensor.DType {
	all := tensor.DTypes()
	return all[g.IntN(len(all))]
}

func (g *generator) tensorType(known bool) *mil.TensorType {
	if !known && g.IntN(20) == 0 {
		return &mil.TensorType{DType: g.dtype(), AnyRank: true}
	}
	t := mil.Tensor(g.dtype())
	for range g.IntN(4) {
		d := tensor.Dim(g.IntN(4))
		if !known && g.IntN(4) == 0 {
			d = tensor.Dim(-1 - g.IntN(3))
		}
		t.Shape = append(t.Shape, d)
	}
	return t
}

// typ makes a type; of a constant if known.
func (g *generator) typ(depth int, known bool) mil.Type {
	kind := g.IntN(5)
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1:
		return &mil.ListType{Elem: g.typ(depth-1, known), Length: tensor.Dim(g.IntN(4) - 1)}
	case 2:
		t := &mil.TupleType{}
		for range g.IntN(3) {
			t.Elems = append(t.Elems, g.typ(depth-1, known))
		}
		return t
	case 3:
		return &mil.DictType{Key: g.typ(0, known), Value: g.typ(depth-1, known)}
	case 4:
		if !known {
			return &mil.StateType{Elem: g.tensorType(false)}
		}
	}
	return g.tensorType(known)
}

func (g *generator) constant(t mil.Type) *mil.Constant {
	c := &mil.Constant{Type: t}
	switch t := t.(type) {
	case *mil.TensorType:
		if g.IntN(5) == 0 {
			c.File = &mil.FileRef{Path: "@model_path/" + g.name(), Offset: g.Uint64()}
			return c
		}
		c.Tensor = g.array(t)
	case *mil.ListType:
		n := int(t.Length)
		if n < 0 {
			n = g.IntN(3)
		}
		for range n {
			c.Items = append(c.Items, g.constant(t.Elem))
		}
	case *mil.TupleType:
		for _, e := range t.Elems {
			c.Items = append(c.Items, g.constant(e))
		}
	case *mil.DictType:
		for range g.IntN(3) {
			c.Entries = append(c.Entries, mil.Entry{Key: g.constant(t.Key), Value: g.constant(t.Value)})
		}
	}
	return c
}

func (g *generator) array(t *mil.TensorType) *tensor.Tensor {
	shape, _ := t.Shape.Ints()
	a := tensor.New(t.DType, shape...)
	if t.DType == tensor.String {
		for i := range a.Strings() {
			a.Strings()[i] = g.name()
		}
		return a
	}
	data := a.Bytes()
	for i := range data {
		data[i] = byte(g.Uint32())
		if t.DType == tensor.Bool {
			data[i] &= 1
		}
	}
	return a
}

func (g *generator) attributes() mil.Attributes {
	var attrs mil.Attributes
	for range g.IntN(3) {
		attrs.Set(g.name(), g.constant(g.typ(3, true)))
	}
	return attrs
}

func (g *generator) function() *mil.Function {
	f := &mil.Function{Name: g.name(), Opset: g.name(), Attributes: g.attributes()}
	scope := g.values(nil, 1+g.IntN(3))
	f.Inputs = scope
	f.Body = g.block(scope, 3)
	if len(f.Body.Outputs) == 0 {
		f.Body.Outputs = f.Inputs[:1]
	}
	return f
}

func (g *generator) values(def *mil.Operation, n int) []*mil.Value {
	var vals []*mil.Value
	for range n {
		vals = append(vals, &mil.Value{Name: g.name(), Type: g.typ(2, false), Def: def})
	}
	return vals
}

// block makes a block that sees the values of scope.
func (g *generator) block(scope []*mil.Value, depth int) *mil.Block {
	b := &mil.Block{Attributes: g.attributes()}
	scope = scope[:len(scope):len(scope)]
	for range g.IntN(4) {
		op := g.operation(scope, depth)
		b.Operations = append(b.Operations, op)
		scope = append(scope, op.Outputs...)
	}
	for range g.IntN(3) {
		b.Outputs = append(b.Outputs, scope[g.IntN(len(scope))])
	}
	return b
}

func (g *generator) operation(scope []*mil.Value, depth int) *mil.Operation {
	op := &mil.Operation{Kind: g.name(), Attributes: g.attributes()}
	for range g.IntN(3) {
		in := mil.Input{Param: g.name()}
		for range g.IntN(3) {
			if g.IntN(2) == 0 {
				in.Args = append(in.Args, mil.Arg{Value: scope[g.IntN(len(scope))]})
			} else {
				in.Args = append(in.Args, mil.Arg{Const: g.constant(g.typ(2, true))})
			}
		}
		op.Inputs = append(op.Inputs, in)
	}
	if depth > 0 {
		for range g.IntN(3) {
			in := g.values(nil, g.IntN(3))
			b := g.block(append(scope[:len(scope):len(scope)], in...), depth-1)
			b.Inputs = in
			op.Blocks = append(op.Blocks, b)
		}
	}
	op.Outputs = g.values(op, g.IntN(3))
	return op
}
