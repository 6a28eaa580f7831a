package segment

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A Choice is what an encoder is given to select the tasks of a layer, or of several that it takes as one. Everything has
// strides by then, and nothing has an address.
type Choice struct {
	*Segment
	Layers []*anec.Layer // the last stands for all

	Spots  map[*anec.Value]Spot
	IsView func(*anec.Layer) bool // becomes no task

	// Copies are where copies of values will lie that the encoder has asked for; newCopy makes room for one. nil: none may
	// be made.
	Copies  map[*anec.Value]Spot
	NewCopy func(*anec.Value) (Spot, bool)

	// By the encoder: values that the tasks read and write in memory, and bytes that they keep between them.
	Touched []*anec.Value
	Bytes   int64
}

// Layer is the one that stands for all.
func (c *Choice) Layer() *anec.Layer { return c.Layers[len(c.Layers)-1] }

// Spot is where a value lies, or its copy.
func (c *Choice) Spot(v *anec.Value) (Spot, bool) {
	if at, ok := c.Copies[v]; ok {
		return at, true
	}
	at, ok := c.Spots[v]
	return at, ok
}

// Copy asks that a value that is read lie in rows: there will be a copy of it that does.
func (c *Choice) Copy(v *anec.Value) (at Spot, ok bool) {
	reads := func(l *anec.Layer) bool { return slices.Contains(l.Reads(), v) }
	if c.NewCopy == nil || v.Const != nil || !slices.ContainsFunc(c.Layers, reads) {
		return at, false
	}
	if at, ok = c.NewCopy(v); ok {
		c.Copies[v] = at
	}
	return at, ok
}

// Makes reports whether a value is made by the layers. A view makes nothing.
func (c *Choice) Makes(v *anec.Value) bool {
	return v.Def != nil && !c.IsView(v.Def) && slices.Contains(c.Layers, v.Def)
}

// Operand is a value as an operand: where it lies, before that has an address.
func (c *Choice) Operand(v *anec.Value) td.Operand {
	at, _ := c.Spot(v)
	o := td.Operand{Base: at.Buffer.ID, Offset: at.Offset, Type: v.Type.DType, Interleave: 1, Dims: v.Type.Dims, Strides: at.Strides}
	if o.Type.SubByte() {
		o.Strides = [td.NumAxes]int64{} // its elements lie packed
	}
	return o
}

// Meet reports whether the bytes of two values may overlap.
func (c *Choice) Meet(x, y *anec.Value) bool {
	a, _ := c.Spot(x)
	b, _ := c.Spot(y)
	return a.Buffer == b.Buffer && a.Offset < b.End(y.Type) && b.Offset < a.End(x.Type)
}

// InPlace reports whether two values lie the same way, element over element.
func (c *Choice) InPlace(x, y *anec.Value) bool {
	a, _ := c.Spot(x)
	b, _ := c.Spot(y)
	return x.Type.Dims == y.Type.Dims && x.Type.DType == y.Type.DType && a.Same(b, x.Type.Dims)
}
