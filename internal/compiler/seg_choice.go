package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A choice is what an encoder is given to select the tasks of a layer, or of several that it takes as one. Everything has
// strides by then, and nothing has an address.
type choice struct {
	*Segment
	layers []*anec.Layer // the last stands for all

	spots  map[*anec.Value]spot
	isView func(*anec.Layer) bool // becomes no task

	// copies are where copies of values will lie that the encoder has asked for; newCopy makes room for one. nil: none may
	// be made.
	copies  map[*anec.Value]spot
	newCopy func(*anec.Value) (spot, bool)

	// By the encoder: values that the tasks read and write in memory, and bytes that they keep between them.
	touched     []*anec.Value
	temporaries int64
}

// layer is the one that stands for all.
func (c *choice) layer() *anec.Layer { return c.layers[len(c.layers)-1] }

// spot is where a value lies, or its copy.
func (c *choice) spot(v *anec.Value) (spot, bool) {
	if at, ok := c.copies[v]; ok {
		return at, true
	}
	at, ok := c.spots[v]
	return at, ok
}

// copy asks that a value that is read lie in rows: there will be a copy of it that does.
func (c *choice) copy(v *anec.Value) (at spot, ok bool) {
	reads := func(l *anec.Layer) bool { return slices.Contains(l.Reads(), v) }
	if c.newCopy == nil || v.Const != nil || !slices.ContainsFunc(c.layers, reads) {
		return at, false
	}
	if at, ok = c.newCopy(v); ok {
		c.copies[v] = at
	}
	return at, ok
}

// makes reports whether a value is made by the layers. A view makes nothing.
func (c *choice) makes(v *anec.Value) bool {
	return v.Def != nil && !c.isView(v.Def) && slices.Contains(c.layers, v.Def)
}

// operand is a value as an operand: where it lies, before that has an address.
func (c *choice) operand(v *anec.Value) td.Operand {
	at, _ := c.spot(v)
	o := td.Operand{Base: at.buffer.id, Offset: at.offset, Type: v.Type.DType, Interleave: 1, Dims: v.Type.Dims, Strides: at.strides}
	if o.Type.SubByte() {
		o.Strides = [td.NumAxes]int64{} // its elements lie packed
	}
	return o
}

// meet reports whether the bytes of two values may overlap.
func (c *choice) meet(x, y *anec.Value) bool {
	a, _ := c.spot(x)
	b, _ := c.spot(y)
	return a.buffer == b.buffer && a.offset < b.end(y.Type) && b.offset < a.end(x.Type)
}

// inPlace reports whether two values lie the same way, element over element.
func (c *choice) inPlace(x, y *anec.Value) bool {
	a, _ := c.spot(x)
	b, _ := c.spot(y)
	return x.Type.Dims == y.Type.Dims && x.Type.DType == y.Type.DType && a.same(b, x.Type.Dims)
}
