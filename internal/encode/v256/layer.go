package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// An emission is a layer on its way to an operation of version 256:
//
//	layer     %y = anec.convolution(%x, %w) | post relu | ew Add %z
//	          |       |             |          |
//	operation y   Convolution   ACTIVATION    EW
//	operands  y, x, w, (bias)                  z
//
// Results come first, then the sources of the class, an empty place for each that is not there, then what the
// epilogue reads.
type emission struct {
	*anec.Layer
	place func(*anec.Value) td.Operand

	// view says where the axes of the operation come from: axis i is axis view[i] of the layer's, before the
	// epilogue transposes it. It is the identity for all but kinds that work along an axis of their choice where
	// their class has a fixed one.
	view anec.Perm

	op *td.Op
}

// An emitter begins the operation of a layer: the class with its fields and sources, and steps that the class cannot
// say. The layer's own epilogue follows.
type emitter func(*emission) error

// emitters has a row for each kind that becomes one operation. The rows stand with the functions.
var emitters = joined(windowEmitters, pointwiseEmitters, matrixEmitters, normEmitters, orderEmitters, moveEmitters, sampleEmitters)

func joined(families ...map[anec.Kind]emitter) map[anec.Kind]emitter {
	all := map[anec.Kind]emitter{}
	for _, family := range families {
		for kind, e := range family {
			if all[kind] != nil {
				panic(fmt.Sprintf("bug: two emitters for %v", kind))
			}
			all[kind] = e
		}
	}
	return all
}

// Emits reports whether a kind becomes an operation.
func Emits(k anec.Kind) bool { return emitters[k] != nil }

// Layer returns the operations of a layer: one, or of a concatenation one for each part. place says where a
// value lies.
func Layer(l *anec.Layer, place func(*anec.Value) td.Operand) ([]*td.Op, error) {
	ops, err := emit(l, place)
	for i := 0; err == nil && i < len(ops); i++ {
		if err = ops[i].Validate(); err == nil {
			err = computable(ops[i])
		}
	}
	if err != nil {
		return nil, &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: err}
	}
	return ops, nil
}

func emit(l *anec.Layer, place func(*anec.Value) td.Operand) ([]*td.Op, error) {
	switch {
	case l.Kind() == anec.KindConcat:
		return emitConcat(l, place)
	case l.Kind() == anec.KindReshape && segment.IsBare(l): // as a view it never comes here
		return emitRelayout(l, place)
	}
	begin := emitters[l.Kind()]
	if begin == nil {
		return nil, fmt.Errorf("it becomes no task: %s", l.Info().NoTask)
	}
	e := &emission{Layer: l, place: place, view: anec.Identity}
	if err := begin(e); err != nil {
		return nil, err
	}
	if err := e.epilogue(); err != nil {
		return nil, err
	}
	for n := len(e.op.Operands); n > 0 && !e.op.Operands[n-1].Present(); n = len(e.op.Operands) {
		e.op.Operands = e.op.Operands[:n-1]
	}
	return []*td.Op{e.op}, nil
}

// begin starts the operation: its class and what the class reads. All sources of the class have to be named, nil
// for one that is not there, so that what the epilogue reads does not take its place.
func (e *emission) begin(p td.Params, sources ...*anec.Value) error {
	e.op = &td.Op{Params: p}
	for i := range e.op.Results() {
		var o td.Operand
		if i < len(e.Tops) {
			o = e.place(e.Tops[i])
		}
		if i == 0 {
			var err error
			if o, err = e.result(o); err != nil {
				return err
			}
		}
		e.op.Operands = append(e.op.Operands, o)
	}
	for _, v := range sources {
		var o td.Operand
		if v != nil {
			o = e.place(v)
		}
		e.op.Operands = append(e.op.Operands, o)
	}
	return nil
}

// result is where the operation writes: the layer's top with the axes as they are before the epilogue
// transposes them, as the operation has them.
func (e *emission) result(top td.Operand) (td.Operand, error) {
	if t := e.Epilogue.Transpose; t != nil {
		var err error
		if top, err = permuted(top, t.Inverse()); err != nil {
			return top, err
		}
	}
	return permuted(top, e.view)
}

// operand is where a value lies that has the axes of the layer, as the operation has them.
func (e *emission) operand(v *anec.Value) (td.Operand, error) { return permuted(e.place(v), e.view) }

func (e *emission) bottom(i int) *anec.Value {
	return segment.Bottom(e.Layer, i)
}

// permuted is an operand with other axes: axis i is axis p[i].
func permuted(o td.Operand, p anec.Perm) (td.Operand, error) {
	if p == anec.Identity || !o.Present() {
		return o, nil
	}
	if o.Type.SubByte() {
		return o, fmt.Errorf("axes of %v cannot be exchanged: its elements share bytes", o.Type)
	}
	q := o
	for i, a := range p {
		q.Dims[i], q.Strides[i] = o.Dims[a], o.Strides[a]
	}
	return q, nil
}
