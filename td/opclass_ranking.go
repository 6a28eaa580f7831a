package td

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// The classes that find elements by their order.

var (
	argMinMaxRow       = newClassRow(ClassArgMinMax, func() Params { return new(ArgMinMax) }, "y", "x", 1, append(slices.Clone(windowFields), "Mode")...)
	globalArgMinMaxRow = newClassRow(ClassGlobalArgMinMax, func() Params { return new(GlobalArgMinMax) }, "y", "x", 1, "Type", "Axis")
	sortRow            = newClassRow(ClassSort, func() Params { return new(Sort) }, "y indices", "x", 1, append([]string{"Direction"}, sortingFields...)...).lastResultOptional()
	topKRow            = newClassRow(ClassTopK, func() Params { return new(TopK) }, "y indices", "x", 1, append([]string{"Type", "K"}, sortingFields...)...).lastResultOptional()

	rankingRows = []*classRow{argMinMaxRow, globalArgMinMaxRow, sortRow, topKRow}
)

// ArgMinMax gives the index of the extreme element of each window of x, counted
// row by row over the window, or of the extreme channel at each position, where
// the window does not matter. The first of equals is found; a NaN, where there
// is one, is more extreme than any number. What a window covers outside x is
// left out; the index of nothing is 0.
type ArgMinMax struct {
	Window
	Mode ArgMode
}

func (p *ArgMinMax) row() *classRow { return argMinMaxRow }
func (p *ArgMinMax) values() []any  { return append(p.Window.values(), &p.Mode) }

func (p *ArgMinMax) check(o *Op) error {
	y, x := &o.Operands[0], &o.Operands[1]
	if !p.Mode.Valid() {
		return fmt.Errorf("%v is not known", p.Mode)
	}
	if !p.Mode.Spatial() {
		return o.checkArg(AxisC)
	}
	if y.Dims[AxisN] != x.Dims[AxisN] || y.Dims[AxisC] != x.Dims[AxisC] {
		return fmt.Errorf("y has %d and %d along N and C, x %d and %d", y.Dims[AxisN], y.Dims[AxisC], x.Dims[AxisN], x.Dims[AxisC])
	}
	if err := p.Window.check(x, y); err != nil {
		return err
	}
	taps := 1.0
	for _, n := range p.Kernel {
		taps *= float64(n)
	}
	return o.checkIndices(0, taps)
}

// GlobalArgMinMax gives the index of the extreme element along an axis, where y
// has extent 1: the first of equals, or the first NaN.
type GlobalArgMinMax struct {
	Type Extreme
	Axis Axis
}

func (p *GlobalArgMinMax) row() *classRow { return globalArgMinMaxRow }
func (p *GlobalArgMinMax) values() []any  { return []any{&p.Type, &p.Axis} }

func (p *GlobalArgMinMax) check(o *Op) error {
	if !p.Type.Valid() {
		return fmt.Errorf("%v is not known", p.Type)
	}
	return o.checkArg(p.Axis)
}

// checkArg holds y to the extents of x, but 1 along an axis.
func (o *Op) checkArg(axis Axis) error {
	y, x := &o.Operands[0], &o.Operands[1]
	for a := range Axis(NumAxes) {
		want := x.Dims[a]
		if a == axis {
			want = 1
		}
		if y.Dims[a] != want {
			return fmt.Errorf("y has %d along %v, want %d", y.Dims[a], a, want)
		}
	}
	if x.Dims[axis] == 0 {
		return fmt.Errorf("x has nothing along %v", axis)
	}
	return o.checkIndices(0, float64(x.Dims[axis]))
}

// checkIndices refuses indices of a type that does not hold numbers below n. An
// epilogue may make something smaller of those in y.
func (o *Op) checkIndices(operand int, n float64) error {
	d := o.Operands[operand].Type
	bits := d.Bits()
	switch {
	case d == tensor.Bool:
		bits = 1
	case d.IsFloat() || operand == 0 && len(o.Epilogue) > 0:
		return nil
	case d.Kind() == tensor.KindInt:
		bits--
	}
	if bits < 32 && n > float64(uint64(1)<<bits) {
		return fmt.Errorf("%s is %v, which does not hold indices to %.0f", o.name(operand), d, n-1)
	}
	return nil
}

// Sorting is what Sort and TopK share. Equal elements keep their order, and NaN
// comes last whatever the direction.
//
// y has the values or, if they alone are wanted, the indices; where both are,
// the indices go to their own operand. The epilogue is of y.
//
// With keys, the elements along VectorAxis stay together: they are compared by
// those that the keys name, the first that differ, and have one index, so that
// indices have extent 1 along VectorAxis. Without, each element is by itself.
type Sorting struct {
	Axis       Axis
	VectorAxis Axis
	NumKeys    int
	Keys       [MaxSortKeys]int // 0 from NumKeys on
	Results    Results
}

// MaxSortKeys is how many elements of a vector can be compared.
const MaxSortKeys = 8

var sortingFields = func() []string {
	names := []string{"Axis", "VectorAxis", "NumKeys"}
	for i := range MaxSortKeys {
		names = append(names, fmt.Sprintf("Key%d", i))
	}
	return append(names, "Results")
}()

func (s *Sorting) values() []any {
	values := []any{&s.Axis, &s.VectorAxis, &s.NumKeys}
	for i := range s.Keys {
		values = append(values, &s.Keys[i])
	}
	return append(values, &s.Results)
}

// Vectors reports whether elements stay together.
func (s *Sorting) Vectors() bool { return s.NumKeys > 0 }

// check holds the results of a sorting operation to the extents of x, with so
// many elements left along the axis.
func (s *Sorting) check(o *Op, left int) error {
	x := &o.Operands[2]
	if !s.Results.Valid() {
		return fmt.Errorf("%v is not known", s.Results)
	}
	if both := o.Operands[1].Present(); both != (s.Results == ResultBoth) {
		return fmt.Errorf("%v are wanted, indices have an operand: %t", s.Results, both)
	}
	if err := s.checkKeys(x); err != nil {
		return err
	}
	values := x.Dims
	values[s.Axis] = left
	indices := values
	if s.Vectors() {
		indices[s.VectorAxis] = 1
	}
	extents := func(i int, want [NumAxes]int) error {
		if y := &o.Operands[i]; y.Dims != want {
			return fmt.Errorf("%s has extents %v, want %v", o.name(i), y.Dims, want)
		}
		return nil
	}
	at := 0 // of the indices
	switch s.Results {
	case ResultValues:
		return extents(0, values)
	case ResultBoth:
		if err := extents(0, values); err != nil {
			return err
		}
		at = 1
	}
	if err := extents(at, indices); err != nil {
		return err
	}
	return o.checkIndices(at, float64(x.Dims[s.Axis]))
}

func (s *Sorting) checkKeys(x *Operand) error {
	switch {
	case s.NumKeys > MaxSortKeys:
		return fmt.Errorf("%d keys: want %d or less", s.NumKeys, MaxSortKeys)
	case s.Vectors() && s.VectorAxis == s.Axis:
		return fmt.Errorf("vectors along %v, which is sorted", s.Axis)
	}
	for i, key := range s.Keys {
		if i >= s.NumKeys && key != 0 {
			return fmt.Errorf("key %d of %d is %d, want 0", i, s.NumKeys, key)
		}
		if i < s.NumKeys && key >= x.Dims[s.VectorAxis] {
			return fmt.Errorf("key %d is %d of %d along %v", i, key, x.Dims[s.VectorAxis], s.VectorAxis)
		}
	}
	return nil
}

// Sort sorts along an axis.
type Sort struct {
	Direction SortDirection
	Sorting
}

func (p *Sort) row() *classRow { return sortRow }
func (p *Sort) values() []any  { return append([]any{&p.Direction}, p.Sorting.values()...) }

func (p *Sort) check(o *Op) error {
	if !p.Direction.Valid() {
		return fmt.Errorf("%v is not known", p.Direction)
	}
	return p.Sorting.check(o, o.Operands[2].Dims[p.Axis])
}

// TopK takes the K largest or smallest along an axis, the extreme one first.
type TopK struct {
	Type Extreme
	K    int
	Sorting
}

func (p *TopK) row() *classRow { return topKRow }
func (p *TopK) values() []any  { return append([]any{&p.Type, &p.K}, p.Sorting.values()...) }

func (p *TopK) check(o *Op) error {
	if !p.Type.Valid() {
		return fmt.Errorf("%v is not known", p.Type)
	}
	if n := o.Operands[2].Dims[p.Axis]; p.K > n {
		return fmt.Errorf("the first %d of %d along %v", p.K, n, p.Axis)
	}
	return p.Sorting.check(o, p.K)
}
