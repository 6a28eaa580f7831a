package strided

import "github.com/espalier-ane/espalier/td"

// paddings say which element of an axis of n stands at place i, be it outside;
// nowhere if none does. They are indexed by the padding mode.
var paddings = map[td.PaddingMode]func(i, n int) int{
	td.PadZero:        inside,
	td.PadNegative:    inside,
	td.PadReplication: func(i, n int) int { return min(max(i, 0), n-1) },
	td.PadSymmetric:   func(i, n int) int { return min(wrapped(i, 2*n), 2*n-1-wrapped(i, 2*n)) },
	td.PadReflective:  reflective,
	td.PadBackground:  inside,
	td.PadDontCare:    inside,
}

func inside(i, n int) int {
	if i < 0 || i >= n {
		return nowhere
	}
	return i
}

func reflective(i, n int) int {
	if n == 1 {
		return 0
	}
	at := wrapped(i, 2*(n-1))
	return min(at, 2*(n-1)-at)
}

// wrapped is i modulo a period, 0 or more.
func wrapped(i, period int) int {
	if i %= period; i < 0 {
		i += period
	}
	return i
}

// at is the spot of a place along an axis that may lie outside.
func (k *relocation) at(axis, i int) spot {
	if i == nowhere {
		return spot{outside: true}
	}
	return k.along(axis, i)
}

func bindPadding(op *Op) (*relocation, error) {
	k, p := newRelocation(op), op.Params.(*td.Padding)
	k.setOutside(p.Mode, p.Value)
	at := paddings[p.Mode]
	for a, n := range op.Operands[1].Dims {
		if before := p.Before[a]; before > 0 || n != op.Operands[0].Dims[a] {
			k.from[a] = func(_ *Scratch, i int) spot { return k.at(a, at(i-before, n)) }
		}
	}
	return k, nil
}

func bindTile(op *Op) (*relocation, error) {
	k := newRelocation(op)
	for a, n := range op.Operands[1].Dims {
		if n != op.Operands[0].Dims[a] {
			k.from[a] = func(_ *Scratch, i int) spot { return k.along(a, i%n) }
		}
	}
	return k, nil
}

func bindDynamicSlice(op *Op) (*relocation, error) {
	k, p := newRelocation(op), op.Params.(*td.DynamicSlice)
	k.live = true
	k.setOutside(p.Padding, p.Background)
	at := paddings[p.Padding]
	start := op.Operands[2].array()
	for number, axis := range p.Axes[:p.Number] {
		a := int(axis)
		n := op.Operands[1].Dims[a]
		if n == 0 {
			continue
		}
		k.from[a] = func(w *Scratch, i int) spot {
			begin := intAt(start.typ, start.memory(w), start.at(&index{axisW: number}))
			if begin < 0 && p.FromEnd {
				begin += int64(n)
			}
			const far = 1 << 40 // beyond every extent
			return k.at(a, at(i+int(min(max(begin, -far), far)), n))
		}
	}
	return k, nil
}

func paddingRows() []Row {
	rows := relocator(bindPadding).rows("padding", td.ClassPadding, nil)
	rows = append(rows, relocator(bindTile).rows("tile", td.ClassTile, nil)...)
	return append(rows, relocator(bindDynamicSlice).rows("dynamicslice", td.ClassDynamicSlice, nil)...)
}
