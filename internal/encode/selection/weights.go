package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Weights that a model stores compressed. How H13's own streams hold a palette or bytes is not known, so that they are made
// fp16 here and packed as other weights are. The layer that would decode them has no task then.

// decodedWeights selects the tasks of a layer that decodes constants: none, if all who read it have the result packed.
func decodedWeights(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	y := l.Top()
	for _, reader := range y.Uses {
		if segment.WeightBottom(reader) != y || reader.Bottoms[0] == y {
			return nil, diag.Decline(diag.NativeOperand, "%q is decoded for a layer that does not have it as weights", y.Name)
		}
	}
	return nil, decodable(l)
}

// decodable declines a layer whose result is not known now, as numbers of fp16.
func decodable(l *anec.Layer) *diag.Reason {
	y := l.Top()
	if !segment.IsDecoded(y) {
		return diag.Decline(diag.NativeOperand, "what is decoded as %q is live, and decoders at run time are not known", y.Name)
	}
	return firstOf(bareOnly(l), halfOnly(y))
}

// decodeHalves computes what DeQuant makes of constants (see anec.DeQuant), in fp16.
func decodeHalves(l *anec.Layer) ([]uint16, *diag.Reason) {
	if why := decodable(l); why != nil {
		return nil, why
	}
	p, y := l.Params.(*anec.DeQuant), l.Top()
	d := y.Type.Dims
	var parts [5]*decodedPart
	for i, v := range l.Bottoms {
		if v == nil {
			continue
		}
		if !v.Const.Plain() {
			return nil, compressed(v)
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
	if why := decoder.walk(d, walked); why != nil {
		return nil, about(y, why)
	}
	return decoder.list[:count:count], nil
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

// walk goes over all elements, unless the constants do not have one. The reason is about the result, which its caller names.
func (c *decoder) walk(d anec.Dims, parts []*decodedPart) *diag.Reason {
	parts = slices.DeleteFunc(parts, func(p *decodedPart) bool { return p == nil })
	var along func(a int) *diag.Reason
	along = func(a int) *diag.Reason {
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
			if why := along(a + 1); why != nil {
				return why
			}
		}
		return nil
	}
	return along(0)
}

// element decodes the next element.
func (c *decoder) element() *diag.Reason {
	if c.mask != nil && c.mask[len(c.list)] == 0 {
		c.list = append(c.list, 0)
		return nil
	}
	at := c.x.here()
	if c.mask != nil {
		at = c.selected
		c.selected++
	}
	if at >= len(c.x.numbers) {
		return diag.Decline(diag.NativeConstant, "is decoded of fewer elements than it has").Measure(at+1, len(c.x.numbers))
	}
	v := c.x.numbers[at]
	if c.table != nil {
		if !(v >= 0 && v < float64(c.entries)) {
			return diag.Decline(diag.NativeConstant, "has an index that its palette has no entry for").Measure(c.entries-1, v)
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
	return nil
}
