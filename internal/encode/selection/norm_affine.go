package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// An affine is the scale and the bias behind a normalization: in rows, which a task brings on chip, one for each column or
// one for each channel; or as large as what they scale.
type affine struct {
	units.Machine
	vector td.Axis // W, or C: the channels; D: none
	loads  []*units.Op
	end    int // on chip
	steps  []affineStep
}

type affineStep struct {
	operator uint32
	chip     units.Chip     // of a vector
	memory   *units.Surface // else
}

// takeAffine reads gamma and beta.
func (m *normalization) takeAffine(l *anec.Layer, work *work, form *workForm) *diag.Reason {
	d := work.d
	var values [][]uint16
	var stored anec.Dims
	a := &affine{Machine: m.b.Machine}
	for i, v := range l.Bottoms[1:] {
		if v == nil {
			continue
		}
		list, why := roundedHalves(v)
		if why != nil {
			return why
		}
		if len(values) > 0 && v.Type.Dims != stored {
			return about(v, diag.Decline(diag.NativeConstant, "is a bias of other extents than the scale").Measure(stored, v.Type.Dims))
		}
		values, stored = append(values, list), v.Type.Dims
		a.steps = append(a.steps, affineStep{operator: [2]uint32{1, 0}[i]})
	}
	if len(values) == 0 {
		return nil
	}
	m.affine = a
	shape := work.exchanged(stored)
	varying := td.Axes(0)
	for i, n := range shape {
		if n > 1 {
			varying |= td.AxesOf(td.Axis(i))
		}
	}
	switch {
	case varying == 0 || varying == td.AxesOf(anec.W):
		a.vector = anec.W
	case varying == td.AxesOf(form.channels.axis) && form.channels.n == d[form.channels.axis]:
		a.vector = anec.C
	default:
		return m.takeTensors(values, stored, work, form)
	}
	// One row each, side by side on chip.
	n := len(values[0])
	width := n
	if varying == 0 {
		width = d[anec.W]
	}
	var rows []uint16
	for _, list := range values {
		for j := range width {
			rows = append(rows, list[j%n])
		}
	}
	size := units.Size{W: width, H: len(values), D: 1, C: 1}
	load := m.b.Bypass(size)
	load.Chip = m.b.ResidentChip(0, size)
	a.end = load.Chip.End(size.H)
	load.Source1 = units.Source{Memory: m.b.constantImage(rows, width, size.H, 1), Chip: m.b.ArrayChip(a.end, size)}
	a.loads = []*units.Op{load}
	for i := range a.steps {
		c := load.Chip
		a.steps[i].chip = units.Chip{Base: c.Base + i*c.Row, Channel: c.Channel, Row: c.Channel, Depth: c.Channel}
	}
	return nil
}

// takeTensors lays gamma and beta into the constants as the form reads what they scale.
func (m *normalization) takeTensors(values [][]uint16, stored anec.Dims, work *work, form *workForm) *diag.Reason {
	c, h, d := form.channels, form.rows, work.d
	shape := work.exchanged(stored)
	for _, axis := range []path{c, h} {
		if axis.n > 1 && axis.n != d[axis.axis] {
			return diag.Decline(diag.NativeAxes, "the scale or bias %v varies where several axes go as one", stored).Measure(d[axis.axis], axis.n)
		}
	}
	for _, axis := range form.outside {
		if shape[axis.axis] > 1 {
			return diag.Decline(diag.NativeAxes, "the scale or bias %v varies along %v, of which each element has tasks of its own", stored, axis.axis).Measure(1, shape[axis.axis])
		}
	}
	m.affine.vector = anec.D
	step := anec.Dims{}
	at := 1
	for a := anec.NumAxes - 1; a >= 0; a-- {
		if stored[a] > 1 {
			step[a] = at
		}
		at *= stored[a]
	}
	step = work.exchanged(step)
	if bytes := denseRows(m.b.Machine, units.Size{W: d[anec.W], H: h.n, D: 1, C: c.n}, 2).Group; bytes > m.b.OnChip {
		return noRoom("a scale or bias for each element", m.b.OnChip, bytes)
	}
	for k, list := range values {
		var laid []uint16
		for i := range c.n {
			for j := range h.n {
				for w := range d[anec.W] {
					laid = append(laid, list[i*step[c.axis]*min(c.n-1, 1)+j*step[h.axis]*min(h.n-1, 1)+w*step[anec.W]])
				}
			}
		}
		m.affine.steps[k].memory = m.b.constantImage(laid, d[anec.W], h.n, c.n)
	}
	return nil
}

// tasks scale what lies on chip.
func (a *affine) tasks(size units.Size, on units.Chip, to *units.Surface) []*units.Op {
	var ops []*units.Op
	for i := range a.steps {
		s := &a.steps[i]
		o := a.Planar(td.TypePlanarBinary, size)
		o.Operator = s.operator
		o.Source1, o.Source2 = units.Source{Chip: on}, &units.Source{Chip: s.chip}
		o.Chip = on
		switch a.vector {
		case anec.W:
			o.Broadcast2 = broadcastBits(size, units.Size{W: size.W, H: 1, D: 1, C: 1})
		case anec.C:
			o.Broadcast2, o.Transpose2 = broadcastBits(size, units.Size{W: 1, H: 1, D: 1, C: size.C}), true
		default:
			o.Source2 = &units.Source{Memory: s.memory, Chip: a.PlanarChip(on.End(size.H), size)}
		}
		if i == len(a.steps)-1 {
			o.Result = to
			o.Chip = units.Chip{Base: on.End(size.H)}
		}
		ops = append(ops, o)
	}
	return ops
}
