package engine

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The classes that choose, quantize, scale, draw and write into a state, by
// their definitions.

func quantDims(r *rand.Rand) [td.NumAxes]int {
	if r.IntN(10) == 0 {
		return [td.NumAxes]int{1, 1, 2, 1, 1300} // more than a chunk
	}
	return [td.NumAxes]int{extent(r), extent(r), 1 + r.IntN(7), extent(r), 1 + r.IntN(20)}
}

// TestVirtualSelect has the elementwise kind of three values.
func TestVirtualSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 256))
	for range 150 {
		dims := quantDims(r)
		result, a, b := pick(r, floatTypes...), pick(r, sourceTypes...), pick(r, sourceTypes...)
		mode := r.IntN(3)
		switch mode {
		case 0: // elements as they are
			result = pick(r, append(append([]tensor.DType{}, floatTypes...), integerTypes...)...)
			a, b = result, result
		case 1:
			result, a, b = tensor.Int64, pick(r, integerTypes...), pick(r, integerTypes...)
		}
		op := &td.Op{Params: &td.ElementWise{Kind: td.EWSelect}, Operands: []td.Operand{
			operand256(result, dims[:]...), broadcastOf(r, pick(r, sourceTypes...), dims), broadcastOf(r, a, dims), broadcastOf(r, b, dims),
		}}
		if mode > 0 {
			epilogues(r, op, mode == 1 && !op.Operands[1].Type.IsFloat())
		}
		bench := newBench(t, r, op)
		bench.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
			if bench.get(1, i) != 0 {
				return bench.get(2, i), 0
			}
			return bench.get(3, i), 0
		})
	}
}

func testQuant(t *testing.T, r *rand.Rand) {
	dims := quantDims(r)
	op := &td.Op{Params: &td.Quant{}, Operands: []td.Operand{
		operand256(pick(r, tensor.Int8, tensor.UInt8, tensor.Int16, tensor.UInt16, tensor.Int32, tensor.UInt32, tensor.Int64), dims[:]...),
		operand256(pick(r, floatTypes...), dims[:]...), broadcastOf(r, pick(r, floatTypes...), dims),
	}}
	shifted := r.IntN(2) == 0
	if shifted {
		op.Operands = append(op.Operands, broadcastOf(r, pick(r, sourceTypes...), dims))
	}
	b := newBench(t, r, op)
	b.fill(2, func([td.NumAxes]int) float64 { return pick(r, 0.25, 0.0078125, 1.5, -0.75, 3) })
	least, most := op.Operands[0].Type.IntRange()
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		q := math.RoundToEven(float64(float32(b.get(1, i)) / float32(b.get(2, i))))
		if shifted {
			q += b.get(3, i)
		}
		return min(max(q, float64(least)), float64(most)), 0
	})
}

// What has no quotient: a scale of 0, numbers that are none, ends of the types.
func TestVirtualQuantEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		typ   tensor.DType
		x     float64
		scale float64
		want  string
	}{
		{tensor.Int8, 1, 0, "127"}, {tensor.Int8, -1, 0, "-128"}, {tensor.Int8, 0, 0, "0"}, {tensor.Int8, nan, 1, "0"},
		{tensor.UInt8, -3, 1, "0"}, {tensor.UInt8, 254.5, 1, "254"}, {tensor.UInt8, 255.5, 1, "255"}, {tensor.Int8, 2.5, 1, "2"},
		{tensor.Int32, inf, 1, "2147483647"}, {tensor.UInt32, inf, 1, "4294967295"}, {tensor.Int32, -inf, 1, "-2147483648"},
		{tensor.Int64, inf, 1, "9223372036854775807"}, {tensor.Int64, -inf, 1, "-9223372036854775808"},
		{tensor.UInt64, inf, 1, "18446744073709551615"}, {tensor.UInt64, 0x1p63, 1, "9223372036854775808"}, {tensor.UInt64, -1, 1, "0"},
	} {
		one := []int{1, 1, 1, 1, 1}
		r := rand.New(rand.NewPCG(0, 0))
		b := newBench(t, r, &td.Op{Params: &td.Quant{}, Operands: []td.Operand{
			operand256(test.typ, one...), operand256(tensor.Float32, one...), operand256(tensor.Float32, one...),
		}})
		b.put(1, [td.NumAxes]int{}, test.x)
		b.put(2, [td.NumAxes]int{}, test.scale)
		b.run(t)
		got := new(big.Int)
		y := b.memories[0][elementOffset(&b.op.Operands[0], [td.NumAxes]int{}):][:test.typ.Size()]
		for k := len(y) - 1; k >= 0; k-- {
			got.Add(got.Lsh(got, 8), big.NewInt(int64(y[k])))
		}
		if test.typ.Kind() == tensor.KindInt && y[len(y)-1] >= 0x80 {
			got.Sub(got, new(big.Int).Lsh(big.NewInt(1), uint(8*len(y))))
		}
		if got.String() != test.want {
			t.Errorf("%v of %g/%g is %v, want %s", test.typ, test.x, test.scale, got, test.want)
		}
	}
}

func testDeQuant(t *testing.T, r *rand.Rand) {
	dims := quantDims(r)
	integers := append(append([]tensor.DType{}, integerTypes[:8]...), packedTypes...)
	op := &td.Op{Params: &td.DeQuant{}, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), operand256(pick(r, integers...), dims[:]...), broadcastOf(r, pick(r, floatTypes...), dims),
	}}
	shifted := r.IntN(2) == 0
	if shifted {
		op.Operands = append(op.Operands, broadcastOf(r, pick(r, sourceTypes...), dims))
	}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		x, scale, zero := b.get(1, i), b.get(2, i), 0.0
		if shifted {
			zero = b.get(3, i)
		}
		return (x - zero) * scale, math.Abs(x*scale) + math.Abs(zero*scale)
	})
}

func testScaledElementWise(t *testing.T, r *rand.Rand) {
	p := &td.ScaledElementWise{
		Kind:  pick(r, td.ScaledAdd, td.ScaledMult, td.ScaledSumSquare, td.ScaledMax, td.ScaledMin),
		Scale: pick[float32](r, 0.5, -1.25, 3, 0.1),
	}
	dims := quantDims(r)
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), dims[:]...), broadcastOf(r, pick(r, sourceTypes...), dims), broadcastOf(r, pick(r, sourceTypes...), dims),
	}}
	epilogues(r, op, false)
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		x, z, s := b.get(1, i), b.get(2, i), float64(p.Scale)
		switch p.Kind {
		case td.ScaledMult:
			return s * x * z, 0
		case td.ScaledSumSquare:
			return s * (x*x + z*z), 0
		case td.ScaledMax:
			return s * max(x, z), 0
		case td.ScaledMin:
			return s * min(x, z), 0
		}
		return s * (x + z), 0
	})
}

// philoxWord is word i of the stream of a seed, as the paper on Philox defines
// it: the words of the counter are L0, R0, L1, R1 of two Feistel boxes.
func philoxWord(seed uint32, i uint64) uint32 {
	l := [2]uint64{0, (i / 4) >> 32}            // words 3 and 1 of the counter
	right := [2]uint64{(i / 4) & 0xffffffff, 0} // words 0 and 2
	key := [2]uint64{uint64(seed), 0}
	for range 10 {
		p0, p1 := right[0]*0xD2511F53, right[1]*0xCD9E8D57
		right = [2]uint64{p1>>32 ^ l[1] ^ key[0], p0>>32 ^ l[0] ^ key[1]}
		l = [2]uint64{p0 & 0xffffffff, p1 & 0xffffffff}
		key = [2]uint64{(key[0] + 0x9E3779B9) & 0xffffffff, (key[1] + 0xBB67AE85) & 0xffffffff}
	}
	return uint32([4]uint64{right[0], l[1], right[1], l[0]}[i%4])
}

// The first words of seed 0, from the authors' own table of known answers.
func TestPhiloxWord(t *testing.T) {
	for i, want := range []uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8} {
		if got := philoxWord(0, uint64(i)); got != want {
			t.Errorf("word %d is %#x, want %#x", i, got, want)
		}
	}
}

func testRandom(t *testing.T, r *rand.Rand) {
	p := &td.RandomGenerator{Low: pick[float32](r, 0, -1, 0.25), High: pick[float32](r, 1, 2.5, 0.7), Seed: r.Uint32()}
	typ := pick(r, floatTypes...)
	if r.IntN(4) == 0 {
		p.Low, p.High, typ = 0, 100, pick(r, integerTypes[:8]...)
	}
	dims := quantDims(r)
	op := &td.Op{Params: p, Operands: []td.Operand{operand256(typ, dims[:]...)}}
	bound := strided.Bound{}
	if typ.IsFloat() {
		epilogues(r, op, false)
		if len(op.Epilogue) > 0 {
			bound = boundOf(op)
		}
	}
	newBench(t, r, op).check(t, bound, func(i [td.NumAxes]int) (want, terms float64) {
		word, bits := philoxWord(p.Seed, uint64(linear(dims, i))), 24
		if typ == tensor.Float16 {
			bits = 11
		}
		u := math.Ldexp(float64(word>>(32-bits)), -bits)
		v := stored(typ, float64(p.Low+float32(u*(float64(p.High)-float64(p.Low)))))[0]
		if v >= float64(p.High) {
			return float64(p.Low), 0
		}
		return v, 0
	})
}

// randomRing is a write into a state at a random window.
func randomRing(r *rand.Rand) *td.Op {
	p := &td.RingBufferWriter{Circular: td.Axes(r.IntN(1 << td.NumAxes))}
	state := quantDims(r)
	window := state
	numbers := 1 + r.IntN(4)
	given := r.IntN(2) == 0
	for a := range window {
		if state[a] > 0 && r.IntN(2) == 0 {
			window[a] = r.IntN(state[a] + 1)
		}
		switch {
		case given && r.IntN(2) == 0:
			p.Live[a] = 1 + r.IntN(numbers)
			p.Offset[a] = r.IntN(3)
		case p.Circular.Has(td.Axis(a)):
			p.Offset[a] = r.IntN(state[a] + 1)
		default:
			p.Offset[a] = r.IntN(state[a] - window[a] + 1)
		}
	}
	d := pick(r, append(append([]tensor.DType{}, floatTypes...), integerTypes...)...)
	op := &td.Op{Params: p, Operands: []td.Operand{operand256(d, state[:]...), operand256(d, state[:]...), operand256(d, window[:]...)}}
	if given {
		op.Operands = append(op.Operands, operand256(pick(r, tensor.Int32, tensor.Int8, tensor.UInt16, tensor.Int64), 1, 1, 1, 1, numbers))
	}
	return op
}

// written is the state of a bench after the write, before it is done.
func (b *bench) ringWritten(i [td.NumAxes]int) (want, terms float64) {
	p := b.op.Params.(*td.RingBufferWriter)
	state, window := b.op.Operands[0].Dims, b.op.Operands[2].Dims
	at := i
	for a := range i {
		from := p.Offset[a]
		if p.Live[a] > 0 {
			from += int(b.get(3, [td.NumAxes]int{td.AxisW: p.Live[a] - 1}))
		}
		if p.Circular.Has(td.Axis(a)) {
			at[a] = ((i[a]-from)%state[a] + state[a]) % state[a]
		} else {
			if from < 0 {
				from += state[a]
			}
			at[a] = i[a] - from
		}
		if at[a] < 0 || at[a] >= window[a] {
			return b.get(1, i), 0
		}
	}
	return b.get(2, at), 0
}

func testRingBufferWriter(t *testing.T, r *rand.Rand) {
	op := randomRing(r)
	b := newBench(t, r, op)
	if r.IntN(3) == 0 { // a state whose buffer is bound to both sides
		b.op.Operands[1] = b.op.Operands[0]
		b.op.Operands[1].Base = 1
		b.memories[1] = b.memories[0]
	}
	b.check(t, boundOf(op), b.ringWritten)
}

// A state that is written in place is touched in the window alone: there are no
// tiles but those of the update.
func TestVirtualRingInPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 256))
	for range 100 {
		op := randomRing(r)
		b := newBench(t, r, op)
		op.Operands[1] = op.Operands[0]
		b.memories[1] = b.memories[0]
		want := make(map[[td.NumAxes]int]float64)
		each(op.Operands[0].Dims, func(i [td.NumAxes]int) { want[i], _ = b.ringWritten(i) })

		p := &Program{bases: new([256]uint64), numerics: hal.Numerics{RoundHalfEven: true}}
		for i, m := range b.memories {
			p.bases[i] = uint64(i+1) << 32
			p.memories = append(p.memories, memory{kind: input, addr: p.bases[i], size: len(m)})
		}
		p.memories[0].kind = output
		whole := newRegion(0, len(b.memories[0]), nil, nil)
		p.memories[0].written.add(&whole)
		s, _, err := p.bindOp(op)
		if err != nil {
			t.Fatalf("%v: %+v", err, op)
		}
		p.steps = append(p.steps, s)
		dims, count := op.Operands[2].Dims, 1
		for _, d := range dims {
			count *= d
		}
		if tiles, _ := s.kernels[0].Tiles(); tiles > count {
			t.Fatalf("%d tiles to write %d elements", tiles, count)
		}
		c := p.NewContext()
		copy(c.memories, b.memories)
		if err := p.RunAll(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		each(op.Operands[0].Dims, func(i [td.NumAxes]int) {
			if got := b.get(0, i); got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) {
				t.Fatalf("element %v is %v, want %v\n%+v %+v", i, got, want[i], op, op.Params)
			}
		})
	}
}

func largeQuantOps() []*td.Op {
	f16 := tensor.Float16
	big := []int{1, 1, 24, 30, 40}
	return []*td.Op{
		{Params: &td.ElementWise{Kind: td.EWSelect}, Operands: []td.Operand{
			operand256(f16, big...), operand256(tensor.Bool, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 1, 1)}},
		{Params: &td.ElementWise{Kind: td.EWSelect}, Operands: []td.Operand{
			operand256(tensor.Float32, big...), operand256(tensor.Bool, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 1, 1)}},
		{Params: &td.ElementWise{Kind: td.EWSelect}, Operands: []td.Operand{
			operand256(tensor.Int64, big...), operand256(f16, big...), operand256(tensor.Int32, big...), operand256(tensor.Int8, 1, 1, 24, 1, 1)}},
		{Params: &td.Quant{}, Operands: []td.Operand{
			operand256(tensor.Int8, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 1, 1), operand256(tensor.Int8, 1, 1, 24, 1, 1)}},
		{Params: &td.DeQuant{}, Operands: []td.Operand{
			operand256(f16, big...), operand256(tensor.Int8, big...), operand256(f16, 1, 1, 24, 1, 1), operand256(tensor.Int8, 1, 1, 24, 1, 1)}},
		{Params: &td.ScaledElementWise{Kind: td.ScaledAdd, Scale: 0.3}, Operands: []td.Operand{
			operand256(f16, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 1, 1)}},
		{Params: &td.RandomGenerator{High: 1, Seed: 7}, Operands: []td.Operand{operand256(f16, big...)}},
		{Params: &td.RingBufferWriter{Live: [td.NumAxes]int{0, 0, 0, 1, 0}, Circular: td.AxesOf(td.AxisH)}, Operands: []td.Operand{
			operand256(f16, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 17, 40), operand256(tensor.Int32, 1, 1, 1, 1, 1)}},
	}
}
