package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Weights that a model stores compressed. How H13's own streams hold a palette or bytes is not known, so that they are made
// fp16 here and packed as other weights are. The layer that would decode them has no task then.

// decodedWeights selects the tasks of a layer that decodes constants: none, if all who read it have the result packed.
func decodedWeights(l *anec.Layer) ([]*units.Op, bool) {
	y := l.Top()
	for _, reader := range y.Uses {
		if segment.WeightBottom(reader) != y || reader.Bottoms[0] == y {
			return nil, false
		}
	}
	return nil, segment.IsDecoded(y) && l.Epilogue.Empty() && y.Type.DType == tensor.Float16
}

// decodeHalves computes what DeQuant makes of constants (see anec.DeQuant), in fp16.
func decodeHalves(l *anec.Layer) ([]uint16, bool) {
	p, ok := l.Params.(*anec.DeQuant)
	y := l.Top()
	if !ok || !segment.IsDecoded(y) || !l.Epilogue.Empty() || y.Type.DType != tensor.Float16 {
		return nil, false
	}
	d := y.Type.Dims
	var parts [5]*decodedPart
	for i, v := range l.Bottoms {
		if v == nil {
			continue
		}
		if !v.Const.Plain() {
			return nil, false
		}
		parts[i] = newDecodedPart(v, d)
	}
	const stored, scale, zero, table, mask = 0, 1, 2, 3, 4
	decoder := decoder{x: parts[stored], scale: parts[scale], zero: parts[zero], table: parts[table], vector: 1}
	walked := []*decodedPart{decoder.scale, decoder.zero}
	if m := parts[mask]; m != nil {
		decoder.mask = m.numbers
	} else {
		walked = append(walked, decoder.x)
	}
	if t := parts[table]; t != nil {
		shape := l.Bottoms[table].Type.Dims
		decoder.entries, decoder.vector, decoder.axis = shape[anec.H], shape[anec.W], p.VectorAxis
		t.blocks(p.Blocks, d)
		walked = append(walked, t)
	}
	count, _ := d.Count()
	decoder.list = make([]uint16, 0, count)
	return decoder.list[:count:count], decoder.walk(d, walked)
}

// A decodedPart is a constant of a DeQuant layer: its numbers, and where along each axis of the result the number for an
// element lies.
type decodedPart struct {
	numbers []float64
	steps   [anec.NumAxes][]int
	at      [anec.NumAxes]int // of the element that is decoded, summed up from the first axis on
}

func newDecodedPart(v *anec.Value, d anec.Dims) *decodedPart {
	p := &decodedPart{numbers: v.Const.Stored.Float64s()}
	p.blocks(v.Type.Dims, d)
	return p
}

// blocks says that there are so many numbers along each axis.
func (p *decodedPart) blocks(n, d anec.Dims) {
	step := 1
	for a := anec.NumAxes - 1; a >= 0; a-- {
		p.steps[a] = make([]int, d[a])
		for i := range p.steps[a] {
			p.steps[a][i] = i * n[a] / d[a] * step
		}
		step *= n[a]
	}
}

// here is where the number for the element lies.
func (p *decodedPart) here() int { return p.at[anec.NumAxes-1] }

// A decoder decodes element by element.
type decoder struct {
	x, scale, zero, table *decodedPart
	mask                  []float64
	entries, vector       int // of a table: its entries, and their elements along an axis
	axis                  td.Axis
	place                 anec.Dims
	selected              int // by the mask, so far
	list                  []uint16
}

// walk goes over all elements; false if the constants do not have one.
func (c *decoder) walk(d anec.Dims, parts []*decodedPart) bool {
	parts = slices.DeleteFunc(parts, func(p *decodedPart) bool { return p == nil })
	var along func(a int) bool
	along = func(a int) bool {
		if a == anec.NumAxes {
			return c.element()
		}
		for i := range d[a] {
			c.place[a] = i
			for _, p := range parts {
				before := 0
				if a > 0 {
					before = p.at[a-1]
				}
				p.at[a] = before + p.steps[a][i]
			}
			if !along(a + 1) {
				return false
			}
		}
		return true
	}
	return along(0)
}

// element decodes the next element.
func (c *decoder) element() bool {
	if c.mask != nil && c.mask[len(c.list)] == 0 {
		c.list = append(c.list, 0)
		return true
	}
	at := c.x.here()
	if c.mask != nil {
		at = c.selected
		c.selected++
	}
	if at >= len(c.x.numbers) {
		return false
	}
	v := c.x.numbers[at]
	if c.table != nil {
		if !(v >= 0 && v < float64(c.entries)) {
			return false
		}
		v = c.table.numbers[(c.table.here()*c.entries+int(v))*c.vector+c.place[c.axis]%c.vector]
	}
	if c.zero != nil {
		v -= c.zero.numbers[c.zero.here()]
	}
	if c.scale != nil {
		v *= c.scale.numbers[c.scale.here()]
	}
	c.list = append(c.list, tensor.ToF16(tensor.RoundToOdd(v)))
	return true
}
