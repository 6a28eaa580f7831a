package strided

const (
	classPadding      = 44
	classTile         = 45
	classDynamicSlice = 47
)

// The numbers of the padding modes that give a value.
const (
	padNegative   = 2
	padBackground = 7
)

// paddings say which element of an axis of n stands at place i, be it outside;
// nowhere if none does. They are indexed by the padding mode.
var paddings = map[uint8]struct {
	name string
	at   func(i, n int) int
}{
	1:             {"Zero", inside},
	padNegative:   {"Negative", inside},
	3:             {"Replication", func(i, n int) int { return min(max(i, 0), n-1) }},
	5:             {"Symmetric", func(i, n int) int { return min(turn(i, 2*n), 2*n-1-turn(i, 2*n)) }},
	6:             {"Reflective", reflective},
	padBackground: {"Background", inside},
	8:             {"DontCare", inside},
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
	at := turn(i, 2*(n-1))
	return min(at, 2*(n-1)-at)
}

// turn is i modulo a period, 0 or more.
func turn(i, period int) int {
	if i %= period; i < 0 {
		i += period
	}
	return i
}

// PaddingName returns the name of a padding mode that can be computed.
func PaddingName(number uint8) (name string, known bool) {
	p, ok := paddings[number]
	return p.name, ok
}

// at is the spot of a place along an axis that may lie outside.
func (k *relocation) at(axis, i int) spot {
	if i == nowhere {
		return spot{outside: true}
	}
	return k.along(axis, i)
}

func bindPadding(op *Op) (*relocation, error) {
	k := newRelocation(op)
	k.setOutside(op.Params.Kind, op.Params.Background)
	at := paddings[op.Params.Kind].at
	for a, n := range op.Operands[1].Dims {
		if before := op.Params.Before[a]; before > 0 || n != op.Operands[0].Dims[a] {
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
	k := newRelocation(op)
	k.live = true
	k.setOutside(op.Params.Kind, op.Params.Background)
	at, fromEnd := paddings[op.Params.Kind].at, op.Params.FromEnd
	start := op.Operands[2].array()
	for number, a := range op.Params.Sliced {
		n := op.Operands[1].Dims[a]
		if n == 0 {
			continue
		}
		k.from[a] = func(w *Scratch, i int) spot {
			begin := intAt(start.typ, start.memory(w), start.at(&index{axisW: number}))
			if begin < 0 && fromEnd {
				begin += int64(n)
			}
			const far = 1 << 40 // beyond every extent
			return k.at(a, at(i+int(min(max(begin, -far), far)), n))
		}
	}
	return k, nil
}

func paddingRows() []Row {
	rows := relocator(bindPadding).rows("padding", classPadding, nil)
	rows = append(rows, relocator(bindTile).rows("tile", classTile, nil)...)
	return append(rows, relocator(bindDynamicSlice).rows("dynamicslice", classDynamicSlice, nil)...)
}
