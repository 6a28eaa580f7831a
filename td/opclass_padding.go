package td

import "fmt"

var (
	paddingRow = newClassRow(ClassPadding, func() Params { return new(Padding) }, "y", "x", 1,
		append(axisFields("Before", "After"), "Mode", "Value~")...)
	tileRow         = newClassRow(ClassTile, func() Params { return new(Tile) }, "y", "x", 1, axisFields("Reps")...)
	dynamicSliceRow = newClassRow(ClassDynamicSlice, func() Params { return new(DynamicSlice) }, "y", "x start", 2,
		"Number", "Axis0", "Axis1", "Axis2", "Axis3", "Axis4", "Coordinate", "Padding", "Background~", "FromEnd?")

	paddingRows = []*classRow{paddingRow, tileRow, dynamicSliceRow}
)

// axisFields names fields of which there is one for each axis.
func axisFields(names ...string) (fields []string) {
	for _, f := range names {
		for a := range Axis(NumAxes) {
			fields = append(fields, f+a.String())
		}
	}
	return fields
}

// PaddingMode is what stands outside a tensor (ZinIrPaddingMode).
type PaddingMode uint8

// The padding modes.
const (
	PadZero        PaddingMode = 1
	PadNegative    PaddingMode = 2 // the least number: what a maximum ignores
	PadReplication PaddingMode = 3 // the nearest element
	PadSymmetric   PaddingMode = 5 // mirrored, the edge twice
	PadReflective  PaddingMode = 6 // mirrored, the edge once
	PadBackground  PaddingMode = 7 // a given value
	PadDontCare    PaddingMode = 8 // as Zero
)

var paddingModeNames = map[PaddingMode]string{
	PadZero: "Zero", PadNegative: "Negative", PadReplication: "Replication", PadSymmetric: "Symmetric",
	PadReflective: "Reflective", PadBackground: "Background", PadDontCare: "DontCare",
}

func (m PaddingMode) String() string { return nameOf(paddingModeNames, m, "padding mode") }

// Valid reports whether m has a name.
func (m PaddingMode) Valid() bool { return paddingModeNames[m] != "" }

// needsElements reports whether the mode takes what is outside from inside.
func (m PaddingMode) needsElements() bool {
	return m == PadReplication || m == PadSymmetric || m == PadReflective
}

// check refuses a mode that has no name, or that finds nothing to repeat along
// one of the axes.
func (m PaddingMode) check(x *Operand, axes Axes) error {
	if !m.Valid() {
		return fmt.Errorf("%v is not known", m)
	}
	for a := range Axis(NumAxes) {
		if axes.Has(a) && x.Dims[a] == 0 && m.needsElements() {
			return fmt.Errorf("x has nothing along %v that %v could repeat", a, m)
		}
	}
	return nil
}

// Padding puts elements about x: before and after it along each axis. What they
// are is for Mode to say; with PadBackground they are Value. A mirror shows x
// once: PadReflective lends at most one element less than x has, PadSymmetric as
// many.
type Padding struct {
	Before, After [NumAxes]int
	Mode          PaddingMode
	Value         float32
}

func (p *Padding) row() *classRow { return paddingRow }

func (p *Padding) values() (values []any) {
	for _, field := range []*[NumAxes]int{&p.Before, &p.After} {
		for a := range field {
			values = append(values, &field[a])
		}
	}
	return append(values, (*uint8)(&p.Mode), &p.Value)
}

func (p *Padding) check(o *Op) error {
	y, x := &o.Operands[0], &o.Operands[1]
	var padded Axes
	for a := range Axis(NumAxes) {
		before, after, n := int64(p.Before[a]), int64(p.After[a]), int64(x.Dims[a])
		if before+n+after != int64(y.Dims[a]) {
			return fmt.Errorf("y has %d along %v, %d about the %d of x make %d", y.Dims[a], a, before+after, n, before+n+after)
		}
		if before+after == 0 {
			continue
		}
		padded |= AxesOf(a)
		room := n
		switch p.Mode {
		case PadReflective:
			room = max(n-1, 0)
		case PadSymmetric:
		default:
			continue
		}
		if max(before, after) > room {
			return fmt.Errorf("padding %d and %d along %v: %v takes at most %d of %d", before, after, a, p.Mode, room, n)
		}
	}
	return p.Mode.check(x, padded)
}

// Tile repeats x so many times along each axis.
type Tile struct {
	Reps [NumAxes]int
}

func (p *Tile) row() *classRow { return tileRow }

func (p *Tile) values() (values []any) {
	for a := range p.Reps {
		values = append(values, &p.Reps[a])
	}
	return values
}

func (p *Tile) check(o *Op) error {
	y, x := &o.Operands[0], &o.Operands[1]
	for a := range Axis(NumAxes) {
		if p.Reps[a] < 1 {
			return fmt.Errorf("%d repetitions along %v", p.Reps[a], a)
		}
		if want := int64(x.Dims[a]) * int64(p.Reps[a]); int64(y.Dims[a]) != want {
			return fmt.Errorf("y has %d along %v, %d repetitions of %d make %d", y.Dims[a], a, p.Reps[a], x.Dims[a], want)
		}
	}
	return nil
}

// DynamicSlice is a window of x whose place is live: along Axes[i], for i below
// Number, it begins at the i-th number of start, which lie along W. It has the
// extents of y. What lies outside x is by the padding mode. FromEnd: a start
// below 0 counts from the end of x, as in MIL.
type DynamicSlice struct {
	Number     int
	Axes       [NumAxes]Axis // N where there is none
	Coordinate CoordinateMode
	Padding    PaddingMode
	Background float32
	FromEnd    bool
}

func (p *DynamicSlice) row() *classRow { return dynamicSliceRow }

func (p *DynamicSlice) values() []any {
	a := &p.Axes
	return []any{&p.Number, &a[0], &a[1], &a[2], &a[3], &a[4], (*uint8)(&p.Coordinate), (*uint8)(&p.Padding), &p.Background, &p.FromEnd}
}

func (p *DynamicSlice) check(o *Op) error {
	y, x, start := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	if p.Number < 1 || p.Number > NumAxes {
		return fmt.Errorf("%d axes, want 1 to %d", p.Number, NumAxes)
	}
	var sliced Axes
	for i, a := range p.Axes {
		switch {
		case i >= p.Number && a != AxisN:
			return fmt.Errorf("%v stands after the %d axes", a, p.Number)
		case i >= p.Number:
			continue
		case sliced.Has(a):
			return fmt.Errorf("%v stands twice among the axes", a)
		}
		sliced |= AxesOf(a)
	}
	for a := range Axis(NumAxes) {
		if sliced.Has(a) && y.Dims[a] > x.Dims[a] || !sliced.Has(a) && y.Dims[a] != x.Dims[a] {
			return fmt.Errorf("y has %d along %v, x has %d", y.Dims[a], a, x.Dims[a])
		}
	}
	if want := [NumAxes]int{1, 1, 1, 1, p.Number}; start.Dims != want {
		return fmt.Errorf("start has extents %v, want %v", start.Dims, want)
	}
	if !start.Type.IsInteger() {
		return fmt.Errorf("start is %v, want integers", start.Type)
	}
	if p.Coordinate != CoordNonNormalized {
		return fmt.Errorf("a start is an index, not %v", p.Coordinate)
	}
	if !p.Padding.Valid() {
		return fmt.Errorf("%v is not known", p.Padding)
	}
	return nil
}
