package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The normalizations but LayerNorm, by their definitions, in fp64.

func normDims(r *rand.Rand) [td.NumAxes]int {
	if r.IntN(20) == 0 {
		return [td.NumAxes]int{1, 1, 2, 1, 600} // more than a chunk
	}
	return [td.NumAxes]int{extent(r), pick(r, 1, 2), 1 + r.IntN(6), 1 + r.IntN(6), 1 + r.IntN(9)}
}

// over calls f for the elements of x that element i is normalized with.
func (b *bench) over(axes td.Axes, i [td.NumAxes]int, f func(v float64)) {
	inner := [td.NumAxes]int{1, 1, 1, 1, 1}
	for a := range inner {
		if axes.Has(td.Axis(a)) {
			inner[a] = b.op.Operands[1].Dims[a]
		}
	}
	each(inner, func(j [td.NumAxes]int) {
		for a := range j {
			if !axes.Has(td.Axis(a)) {
				j[a] = i[a]
			}
		}
		f(b.get(1, j))
	})
}

func testInstanceNorm(t *testing.T, r *rand.Rand) {
	p := &td.InstanceNorm{Axes: td.Axes(r.IntN(1<<td.NumAxes)) &^ td.AxesOf(td.AxisN, td.AxisC), Epsilon: pick[float32](r, 1e-5, 0.5)}
	dims := normDims(r)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	gamma, beta := r.IntN(2) == 0, r.IntN(2) == 0
	if gamma || beta {
		op.Operands = append(op.Operands, td.Operand{})
	}
	if gamma {
		op.Operands[2] = operand256(pick(r, floatTypes...), 1, 1, pick(r, 1, dims[td.AxisC]), 1, 1)
	}
	if beta {
		op.Operands = append(op.Operands, operand256(pick(r, floatTypes...), 1, 1, dims[td.AxisC], 1, 1))
	}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		var sum, n, variance float64
		b.over(p.Axes, i, func(v float64) { sum, n = sum+v, n+1 })
		b.over(p.Axes, i, func(v float64) { variance += (v - sum/n) * (v - sum/n) })
		want = (b.get(1, i) - sum/n) / math.Sqrt(variance/n+float64(p.Epsilon))
		if gamma {
			want *= b.get(2, i)
		}
		terms = math.Abs(want)
		if beta {
			want += b.get(3, i)
		}
		return want, terms
	})
}

func testL2Norm(t *testing.T, r *rand.Rand) {
	p := &td.L2Norm{Axes: td.Axes(r.IntN(1 << td.NumAxes)), Epsilon: pick[float32](r, 1e-5, 0.5, 0)}
	dims := normDims(r)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	if p.Epsilon > 0 { // no NaN in an epilogue
		epilogues(r, op, false)
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		sum := 0.0
		b.over(p.Axes, i, func(v float64) { sum += v * v })
		return b.get(1, i) / math.Sqrt(sum+float64(p.Epsilon)), 0
	})
}

func testMinMaxNorm(t *testing.T, r *rand.Rand) {
	p := &td.MinMaxNorm{Axes: td.Axes(r.IntN(1 << td.NumAxes)), Epsilon: pick[float32](r, 1e-5, 0.5, 0)}
	dims := normDims(r)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	if p.Epsilon > 0 {
		epilogues(r, op, false)
	}
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		least, top := math.Inf(1), math.Inf(-1)
		b.over(p.Axes, i, func(v float64) { least, top = min(least, v), max(top, v) })
		return (b.get(1, i) - least) / (top - least + float64(p.Epsilon)), 0
	})
}

func testLRN(t *testing.T, r *rand.Rand) {
	p := &td.LRN{
		Size: pick(r, 1, 2, 3, 4, 5, 9, math.MaxInt32), Alpha: pick[float32](r, 1e-4, 0.5, 2),
		Beta: pick[float32](r, 0.75, 1, 0.3), K: pick[float32](r, 1, 2.5),
	}
	dims := normDims(r)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, sourceTypes...), dims[:]...),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		sum := 0.0
		for c := range dims[td.AxisC] {
			if c < i[td.AxisC]-p.Size/2 || c >= i[td.AxisC]-p.Size/2+p.Size {
				continue
			}
			j := i
			j[td.AxisC] = c
			sum += b.get(1, j) * b.get(1, j)
		}
		return b.get(1, i) / math.Pow(float64(p.K)+float64(p.Alpha)/float64(p.Size)*sum, float64(p.Beta)), 0
	})
}

// largeNormOps are normalizations of more than one tile.
func largeNormOps() []*td.Op {
	f16 := tensor.Float16
	big := []int{1, 1, 24, 30, 40}
	spatial := td.AxesOf(td.AxisH, td.AxisW)
	return []*td.Op{
		{Params: &td.InstanceNorm{Axes: spatial, Epsilon: 1e-5}, Operands: []td.Operand{
			operand256(f16, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 1, 1)}},
		{Params: &td.L2Norm{Axes: spatial, Epsilon: 1e-5}, Operands: []td.Operand{operand256(f16, big...), operand256(f16, big...)}},
		{Params: &td.MinMaxNorm{Axes: td.AxesOf(td.AxisC), Epsilon: 1e-5}, Operands: []td.Operand{operand256(f16, big...), operand256(f16, big...)}},
		{Params: &td.LRN{Size: 5, Alpha: 1e-4, Beta: 0.75, K: 1}, Operands: []td.Operand{operand256(f16, big...), operand256(f16, big...)}},
	}
}

// A normalization may write over what it reads, but for a local one, which reads
// neighbours.
func TestNormInPlace(t *testing.T) {
	dims := [td.NumAxes]int{2, 1, 5, 3, 700}
	x := td.Dense(0, 0, tensor.Float16, dims)
	_, size, _ := x.Extent()
	data := make([]byte, size)
	r := rand.New(rand.NewPCG(3, 4))
	filled := &bench{op: &td.Op{Operands: []td.Operand{x}}, memories: [][]byte{data}}
	each(dims, func(i [td.NumAxes]int) { filled.put(0, i, randomValue(r, tensor.Float16)) })
	given := tensor.New(tensor.Float16, dims[:]...)
	copy(given.Bytes(), data)
	for _, params := range []td.Params{
		&td.InstanceNorm{Axes: td.AxesOf(td.AxisH, td.AxisW), Epsilon: 1e-5}, &td.L2Norm{Axes: td.AxesOf(td.AxisC)},
		&td.MinMaxNorm{Axes: td.AxesOf(td.AxisC, td.AxisW), Epsilon: 1e-5}, &td.LRN{Size: 3, Alpha: 1, Beta: 1, K: 1},
	} {
		want := RunOperation(t, &td.Op{Params: params, Operands: []td.Operand{x, x}}, given)

		op := &td.Op{Params: params, Operands: []td.Operand{x, x}}
		p := &Program{bases: new([256]uint64), numerics: benchNumerics}
		p.bases[0], p.memories = 1<<32, []memory{{kind: output, addr: 1 << 32, size: len(data)}}
		source := operandRegion(&strided.Operand{Operand: x})
		if err := p.noteWritten(0, &source); err != nil {
			t.Fatal(err)
		}
		task, err := op.Task(td.V256)
		if err != nil {
			t.Fatal(err)
		}
		err = p.bind(t.Context(), []td.Placed{{Task: task}})
		if local := op.Class() == td.ClassLocalResponseNormalization; local != (err != nil) {
			t.Errorf("%v in place: %v", op.Class(), err)
		}
		if err != nil {
			continue
		}
		c := p.NewContext()
		copy(c.surface(0), data)
		if err := p.RunAll(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		if string(c.memories[0]) != string(want[0].Bytes()) {
			t.Errorf("%v gives other bits in place", op.Class())
		}
	}
}
