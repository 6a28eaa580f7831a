package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The classes that find elements by their order, by their definitions.

var indexTypes = []tensor.DType{tensor.Int32, tensor.Int32, tensor.UInt16, tensor.Int64, tensor.UInt32, tensor.Int8, tensor.Float16, tensor.Float32}

// likes makes many elements of an operand equal, and some of a float one, if
// wanted, infinite or NaN.
func (b *bench) likes(r *rand.Rand, operand int, extremes bool) {
	o := &b.op.Operands[operand]
	if o.Type.SubByte() || r.IntN(3) == 0 {
		return
	}
	b.fill(operand, func([td.NumAxes]int) float64 {
		v := float64(r.IntN(4))
		if o.Type.IsFloat() && extremes {
			switch r.IntN(12) {
			case 0:
				v = math.NaN()
			case 1:
				v = math.Inf(1 - 2*r.IntN(2))
			case 2:
				v = math.Copysign(0, -1)
			}
		}
		return v
	})
}

// line returns the elements along an axis.
func (b *bench) line(operand int, i [td.NumAxes]int, axis td.Axis) []float64 {
	v := make([]float64, b.op.Operands[operand].Dims[axis])
	for i[axis] = range v {
		v[i[axis]] = b.get(operand, i)
	}
	return v
}

// plainArg is the index of the first NaN, or of the first of the extreme ones.
func plainArg(v []float64, max bool) int {
	best := 0
	for i, x := range v {
		if math.IsNaN(x) {
			return i
		}
		if max && x > v[best] || !max && x < v[best] {
			best = i
		}
	}
	return best
}

func testArgMinMax(t *testing.T, r *rand.Rand) {
	p := &td.ArgMinMax{Mode: pick(r, td.SpatialArgMin, td.SpatialArgMax, td.ChannelArgMin, td.ChannelArgMax), Window: randomWindow(r)}
	x := [td.NumAxes]int{extent(r), pick(r, 1, 3), 1 + r.IntN(5), 1 + r.IntN(9), 1 + r.IntN(9)}
	y := over(&p.Window, x)
	if !p.Mode.Spatial() {
		y = x
		y[td.AxisC] = 1
	}
	op := &td.Op{Params: p, Operands: []td.Operand{operand256(pick(r, indexTypes...), y[:]...), operand256(pick(r, sourceTypes...), x[:]...)}}
	epilogues(r, op, !op.Operands[0].Type.IsFloat())
	b := newBench(t, r, op)
	b.likes(r, 1, true)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		if !p.Mode.Spatial() {
			return float64(plainArg(b.line(1, i, td.AxisC), p.Mode == td.ChannelArgMax)), 0
		}
		var values []float64
		var taps []int
		underTaps(&p.Window, x, i, func(tap, at [td.NumAxes]int) {
			values = append(values, b.get(1, at))
			taps = append(taps, (tap[td.AxisD]*p.Kernel[1]+tap[td.AxisH])*p.Kernel[2]+tap[td.AxisW])
		})
		if len(taps) == 0 {
			return 0, 0
		}
		return float64(taps[plainArg(values, p.Mode == td.SpatialArgMax)]), 0
	})
}

func testGlobalArgMinMax(t *testing.T, r *rand.Rand) {
	p := &td.GlobalArgMinMax{Type: pick(r, td.Min, td.Max), Axis: td.Axis(r.IntN(td.NumAxes))}
	x := [td.NumAxes]int{1 + r.IntN(4), pick(r, 1, 3), 1 + r.IntN(5), 1 + r.IntN(9), 1 + r.IntN(30)}
	if r.IntN(20) == 0 {
		x, p.Axis = [td.NumAxes]int{1, 1, 1, 3, 700}, td.AxisH // more than a chunk of results
	} else if r.IntN(20) == 0 {
		if x[r.IntN(td.NumAxes)] = 0; x[p.Axis] == 0 {
			x[p.Axis] = 1
		}
	}
	y := x
	y[p.Axis] = 1
	op := &td.Op{Params: p, Operands: []td.Operand{operand256(pick(r, indexTypes...), y[:]...), operand256(pick(r, sourceTypes...), x[:]...)}}
	epilogues(r, op, !op.Operands[0].Type.IsFloat())
	b := newBench(t, r, op)
	b.likes(r, 1, true)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		return float64(plainArg(b.line(1, i, p.Axis), p.Type == td.Max)), 0
	})
}

// plainSort returns the indices that sort a line of values, or where they are
// equal the next line; equal ones keep their order and NaN comes last.
func plainSort(descending bool, lines ...[]float64) []int {
	order := make([]int, len(lines[0]))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		for _, v := range lines {
			switch a, b := v[i], v[j]; {
			case math.IsNaN(a) && math.IsNaN(b) || a == b:
				continue
			case math.IsNaN(b) || !math.IsNaN(a) && (a < b) != descending:
				return -1
			}
			return 1
		}
		return 0
	})
	return order
}

func sortedDims(r *rand.Rand, axis td.Axis) [td.NumAxes]int {
	if r.IntN(15) == 0 {
		dims := [td.NumAxes]int{1, 1, 1, 1, 1}
		dims[axis] = 1300 // more than two chunks
		return dims
	}
	return [td.NumAxes]int{extent(r), pick(r, 1, 2), 1 + r.IntN(6), 1 + r.IntN(6), 1 + r.IntN(30)}
}

func testSort(t *testing.T, r *rand.Rand) {
	p := &td.Sort{Direction: pick(r, td.Ascending, td.Descending), Sorting: td.Sorting{Axis: td.Axis(r.IntN(td.NumAxes)), Results: pick(r, td.ResultValues, td.ResultIndices, td.ResultBoth)}}
	x := sortedDims(r, p.Axis)
	testSorted(t, r, &td.Op{Params: p}, &p.Sorting, x, x[p.Axis], p.Direction == td.Descending)
}

func testTopK(t *testing.T, r *rand.Rand) {
	p := &td.TopK{Type: pick(r, td.Min, td.Max), Sorting: td.Sorting{Axis: td.Axis(r.IntN(td.NumAxes)), Results: pick(r, td.ResultValues, td.ResultIndices, td.ResultBoth)}}
	x := sortedDims(r, p.Axis)
	p.K = min(pick(r, 0, 1, 2, 3, 7, 600, x[p.Axis]), x[p.Axis])
	testSorted(t, r, &td.Op{Params: p}, &p.Sorting, x, p.K, p.Type == td.Max)
}

func testSorted(t *testing.T, r *rand.Rand, op *td.Op, s *td.Sorting, x [td.NumAxes]int, left int, descending bool) {
	axis, results := s.Axis, s.Results
	y := x
	y[axis] = left
	indices := y
	if s.VectorAxis = td.Axis(r.IntN(td.NumAxes)); s.VectorAxis != axis && x[s.VectorAxis] > 0 && r.IntN(3) == 0 {
		s.NumKeys = 1 + r.IntN(3)
		for i := range s.NumKeys {
			s.Keys[i] = r.IntN(x[s.VectorAxis])
		}
		indices[s.VectorAxis] = 1
	}
	indexType := func() tensor.DType {
		for {
			if d := pick(r, indexTypes...); d != tensor.Int8 || x[axis] <= 128 {
				return d
			}
		}
	}
	from := pick(r, sourceTypes...)
	to := from
	if from.SubByte() || r.IntN(2) == 0 {
		to = pick(r, floatTypes...)
		if !from.IsFloat() && r.IntN(2) == 0 {
			to = tensor.Int32
		}
	}
	if results == td.ResultIndices {
		to, y = indexType(), indices
	}
	op.Operands = []td.Operand{operand256(to, y[:]...), {}, operand256(from, x[:]...)}
	if results == td.ResultBoth {
		op.Operands[1] = operand256(indexType(), indices[:]...)
	}
	if to.IsFloat() || to == tensor.Int32 {
		epilogues(r, op, !to.IsFloat())
	}
	b := newBench(t, r, op)
	orders := make(map[[td.NumAxes]int][]int) // of each line, by its first element
	sorted := func(i [td.NumAxes]int) int {
		n := i[axis]
		i[axis] = 0
		if order, ok := orders[i]; ok {
			return order[n]
		}
		lines := [][]float64{b.line(2, i, axis)}
		if s.Vectors() {
			lines = nil
			for _, key := range s.Keys[:s.NumKeys] {
				j := i
				j[s.VectorAxis] = key
				lines = append(lines, b.line(2, j, axis))
			}
		}
		orders[i] = plainSort(descending, lines...)
		return orders[i][n]
	}
	b.likes(r, 2, results == td.ResultIndices || len(op.Epilogue) == 0)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		at := sorted(i)
		if results == td.ResultIndices {
			return float64(at), 0
		}
		i[axis] = at
		return b.get(2, i), 0
	})
	if results != td.ResultBoth {
		return
	}
	each(indices, func(i [td.NumAxes]int) {
		want := stored(op.Operands[1].Type, float64(sorted(i)))[0]
		if got := b.get(1, i); got != want {
			t.Fatalf("%v: index %v is %v, want %v", op.Class(), i, got, want)
		}
	})
}

// largeRankingOps are such operations of more than one tile.
func largeRankingOps() []*td.Op {
	f16, i32 := tensor.Float16, tensor.Int32
	big := []int{1, 1, 24, 30, 40}
	one := td.UnitWindow
	one.Kernel[2], one.Stride[2] = 4, 4
	return []*td.Op{
		{Params: &td.ArgMinMax{Mode: td.ChannelArgMax}, Operands: []td.Operand{operand256(i32, 1, 1, 1, 30, 40), operand256(f16, big...)}},
		{Params: &td.ArgMinMax{Mode: td.SpatialArgMin, Window: one}, Operands: []td.Operand{operand256(i32, 1, 1, 24, 30, 10), operand256(f16, big...)}},
		{Params: &td.GlobalArgMinMax{Type: td.Max, Axis: td.AxisW}, Operands: []td.Operand{operand256(i32, 1, 1, 24, 30, 1), operand256(f16, big...)}},
		{Params: &td.Sort{Direction: td.Ascending, Sorting: td.Sorting{Axis: td.AxisW}}, Operands: []td.Operand{operand256(f16, big...), {}, operand256(f16, big...)}},
		{Params: &td.Sort{Direction: td.Ascending, Sorting: td.Sorting{Axis: td.AxisC, Results: td.ResultIndices}}, Operands: []td.Operand{operand256(i32, big...), {}, operand256(f16, big...)}},
		{Params: &td.TopK{Type: td.Max, K: 5, Sorting: td.Sorting{Axis: td.AxisH, Results: td.ResultBoth}}, Operands: []td.Operand{
			operand256(tensor.Float32, 1, 1, 24, 5, 40), operand256(i32, 1, 1, 24, 5, 40), operand256(f16, big...)}},
		{Params: &td.TopK{Type: td.Max, K: 5, Sorting: td.Sorting{Axis: td.AxisH, VectorAxis: td.AxisC, NumKeys: 2, Keys: [td.MaxSortKeys]int{3, 1}}}, Operands: []td.Operand{
			operand256(f16, 1, 1, 24, 5, 40), {}, operand256(f16, big...)}},
		{Params: &td.TopK{Type: td.Min, K: 5, Sorting: td.Sorting{Axis: td.AxisH}}, Operands: []td.Operand{
			operand256(tensor.Int64, 1, 1, 24, 5, 40), {}, operand256(tensor.Int8, big...)}},
	}
}

// Results that lie over each other, or over a source, are refused.
func TestTwoResultsRefuse(t *testing.T) {
	dims := [td.NumAxes]int{1, 1, 1, 1, 8}
	bind := func(change func(op *td.Op)) error {
		op := &td.Op{Params: &td.TopK{Type: td.Max, K: 8, Sorting: td.Sorting{Axis: td.AxisW, Results: td.ResultBoth}}, Operands: []td.Operand{
			td.Dense(0, 0, tensor.Int32, dims), td.Dense(0, 32, tensor.Int32, dims), td.Dense(0, 64, tensor.Int32, dims)}}
		change(op)
		p := &Program{bases: new([256]uint64), numerics: benchNumerics}
		p.bases[0], p.memories = 1<<32, []memory{{kind: output, addr: 1 << 32, size: 96}}
		source := operandRegion(&strided.Operand{Operand: op.Operands[2]})
		if err := p.noteWritten(0, &source); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.bindOp(op); err != nil {
			return err
		}
		// Both results count as written.
		for i := range 2 {
			if _, _, err := p.bindOp(&td.Op{Params: &td.Copy{}, Operands: []td.Operand{op.Operands[2], op.Operands[i]}}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := bind(func(*td.Op) {}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(op *td.Op){
		"result 0 overlaps operand 1":       func(op *td.Op) { op.Operands[1].Offset = 28 },
		"the result overlaps operand 2":     func(op *td.Op) { op.Operands[0].Offset = 64 },
		"result 1 overlaps operand 2":       func(op *td.Op) { op.Operands[1].Offset = 64 },
		"elements of the result overlap":    func(op *td.Op) { op.Operands[1].Strides[td.AxisW] = 0 },
		"indices of uint4, whose elements":  func(op *td.Op) { op.Operands[1] = td.Dense(0, 32, tensor.UInt4, dims) },
		"a result of uint4, whose elements": func(op *td.Op) { op.Operands[0] = td.Dense(0, 0, tensor.UInt4, dims) },
		"are outside":                       func(op *td.Op) { op.Operands[1].Offset = 80 },
	} {
		if err := bind(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
