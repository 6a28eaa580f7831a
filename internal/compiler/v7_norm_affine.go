package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A v7affine is the scale and the bias behind a normalization: in rows, which a task brings on chip, one for each column or
// one for each channel; or as large as what they scale.
type v7affine struct {
	vector td.Axis // W, or C: the channels; D: none
	loads  []*v7op
	end    int // on chip
	steps  []v7affineStep
}

type v7affineStep struct {
	operator uint32
	chip     v7chip     // of a vector
	memory   *v7surface // else
}

// takeAffine reads gamma and beta.
func (m *v7norm) takeAffine(l *anec.Layer, work *v7work, form *v7form) bool {
	d := work.d
	var values [][]uint16
	var stored anec.Dims
	a := &v7affine{}
	for i, v := range l.Bottoms[1:] {
		if v == nil {
			continue
		}
		list, ok := roundedHalves(v)
		if !ok || len(values) > 0 && v.Type.Dims != stored {
			return false
		}
		values, stored = append(values, list), v.Type.Dims
		a.steps = append(a.steps, v7affineStep{operator: [2]uint32{1, 0}[i]})
	}
	if len(values) == 0 {
		return true
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
	size := v7size{w: width, h: len(values), d: 1, c: 1}
	load := newBypass(size)
	load.chip = residentChip(0, size)
	a.end = load.chip.end(size.h)
	load.source1 = v7source{memory: m.b.constantImage(rows, width, size.h, 1), chip: arrayChip(a.end, size)}
	a.loads = []*v7op{load}
	for i := range a.steps {
		c := load.chip
		a.steps[i].chip = v7chip{base: c.base + i*c.row, channel: c.channel, row: c.channel, depth: c.channel}
	}
	return true
}

// takeTensors lays gamma and beta into the constants as the form reads what they scale.
func (m *v7norm) takeTensors(values [][]uint16, stored anec.Dims, work *v7work, form *v7form) bool {
	c, h, d := form.channels, form.rows, work.d
	shape := work.exchanged(stored)
	for _, axis := range []v7path{c, h} {
		if axis.n > 1 && axis.n != d[axis.axis] {
			return false // of several axes
		}
	}
	for _, axis := range form.outside {
		if shape[axis.axis] > 1 {
			return false
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
	if denseRows(v7size{w: d[anec.W], h: h.n, d: 1, c: c.n}, 2).group > v7chipBytes {
		return false
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
	return true
}

// tasks scale what lies on chip.
func (a *v7affine) tasks(size v7size, on v7chip, to *v7surface) []*v7op {
	var ops []*v7op
	for i := range a.steps {
		s := &a.steps[i]
		o := newPlanar(td.TypePlanarBinary, size)
		o.operator = s.operator
		o.source1, o.source2 = v7source{chip: on}, &v7source{chip: s.chip}
		o.chip = on
		switch a.vector {
		case anec.W:
			o.broadcast2 = broadcastBits(size, v7size{w: size.w, h: 1, d: 1, c: 1})
		case anec.C:
			o.broadcast2, o.transpose2 = broadcastBits(size, v7size{w: 1, h: 1, d: 1, c: size.c}), true
		default:
			o.source2 = &v7source{memory: s.memory, chip: planarChip(on.end(size.h), size)}
		}
		if i == len(a.steps)-1 {
			o.result = to
			o.chip = v7chip{base: on.end(size.h)}
		}
		ops = append(ops, o)
	}
	return ops
}
