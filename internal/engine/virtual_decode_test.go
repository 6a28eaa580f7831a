package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The operands of DeQuant.
const (
	decodedY = iota
	decodedX
	decodedScale
	decodedZero
	decodedTable
	decodedMask
)

// randomDecode is a task that decodes, of any form.
func randomDecode(r *rand.Rand) *td.Op {
	p := new(td.DeQuant)
	masked, looked := r.IntN(3) == 0, r.IntN(2) == 0
	vector := 1
	if looked && !masked && r.IntN(2) == 0 {
		vector, p.VectorAxis = 2+r.IntN(2), td.Axis(r.IntN(td.NumAxes))
	}
	// The grids of tables, scales and zeros divide the extents.
	var y, x, grid, scale, zero [td.NumAxes]int
	long := r.IntN(20) == 0
	divisor := func(n int) int {
		for d := []int{1, n, 1 + r.IntN(n)}[r.IntN(3)]; ; d-- {
			if n%d == 0 {
				return d
			}
		}
	}
	for a := range y {
		x[a] = pick(r, 1, 1, 2, 3, 4, 6)
		if long {
			x[a] = [td.NumAxes]int{1, 1, 1, 2, 600}[a]
		}
		grid[a] = divisor(x[a])
		y[a] = x[a]
		if td.Axis(a) == p.VectorAxis {
			y[a] *= vector
		}
		scale[a], zero[a] = divisor(y[a]), divisor(y[a])
	}
	integers := append(append([]tensor.DType{}, integerTypes...), packedTypes...)
	op := &td.Op{Params: p, Operands: make([]td.Operand, decodedMask+1)}
	op.Operands[decodedY] = operand256(pick(r, floatTypes...), y[:]...)
	op.Operands[decodedX] = operand256(pick(r, integers...), x[:]...)
	if !looked && r.IntN(3) == 0 {
		op.Operands[decodedX].Type = pick(r, floatTypes...)
	}
	if r.IntN(4) > 0 {
		op.Operands[decodedScale] = operand256(pick(r, floatTypes...), scale[:]...)
		if r.IntN(2) == 0 {
			op.Operands[decodedZero] = operand256(pick(r, sourceTypes...), zero[:]...)
		}
	}
	if looked {
		p.Blocks = grid
		tables := 1
		for _, n := range grid {
			tables *= n
		}
		op.Operands[decodedTable] = operand256(pick(r, floatTypes...), 1, 1, tables, 1+r.IntN(12), vector)
	}
	if masked {
		op.Operands[decodedMask] = operand256(pick(r, tensor.UInt1, tensor.Bool), y[:]...)
		op.Operands[decodedX].Dims = [td.NumAxes]int{1, 1, 1, 1, r.IntN(1 + y[0]*y[1]*y[2]*y[3]*y[4])}
	}
	for !op.Operands[len(op.Operands)-1].Present() {
		op.Operands = op.Operands[:len(op.Operands)-1]
	}
	epilogues(r, op, false)
	return op
}

// decoded is the definition.
func (b *bench) decoded(i [td.NumAxes]int) (want, terms float64) {
	there := func(o int) bool { return o < len(b.op.Operands) && b.op.Operands[o].Present() }
	p, y := b.op.Params.(*td.DeQuant), b.op.Operands[decodedY].Dims
	// inBlock is where the element lies in something that has one for each block.
	inBlock := func(dims [td.NumAxes]int) (at [td.NumAxes]int) {
		for a := range at {
			at[a] = i[a] / (y[a] / dims[a])
		}
		return at
	}
	var v float64
	if there(decodedMask) {
		if b.get(decodedMask, i) == 0 {
			return 0, 0
		}
		before := 0
		each(y, func(j [td.NumAxes]int) {
			if linear(y, j) < linear(y, i) && b.get(decodedMask, j) != 0 {
				before++
			}
		})
		if before >= b.op.Operands[decodedX].Dims[td.AxisW] {
			return 0, 0
		}
		v = b.get(decodedX, [td.NumAxes]int{td.AxisW: before})
	} else {
		v = b.get(decodedX, inBlock(b.op.Operands[decodedX].Dims))
	}
	if there(decodedTable) {
		table := b.op.Operands[decodedTable].Dims
		entry := int(min(max(v, 0), float64(table[td.AxisH]-1)))
		v = b.get(decodedTable, [td.NumAxes]int{0, 0, linear(p.Blocks, inBlock(p.Blocks)), entry, i[p.VectorAxis] % table[td.AxisW]})
	}
	if !there(decodedScale) {
		return v, 0
	}
	scale, zero := b.get(decodedScale, inBlock(b.op.Operands[decodedScale].Dims)), 0.0
	if there(decodedZero) {
		zero = b.get(decodedZero, inBlock(b.op.Operands[decodedZero].Dims))
	}
	return (v - zero) * scale, math.Abs(v*scale) + math.Abs(zero*scale)
}

func TestVirtualDecode(t *testing.T) {
	r := rand.New(rand.NewPCG(59, 256))
	forms := make(map[string]int)
	for range 400 {
		b := newBench(t, r, randomDecode(r))
		for interleaved(b.op) { // what a constant never is
			b = newBench(t, r, randomDecode(r))
		}
		for _, o := range []int{decodedScale, decodedTable, decodedMask} {
			if o < len(b.op.Operands) && b.op.Operands[o].Present() {
				forms[[]string{"", "", "scale", "", "table", "mask"}[o]]++
			}
		}
		b.check(t, boundOf(b.op), b.decoded)
	}
	for _, name := range []string{"scale", "table", "mask"} {
		if forms[name] < 50 {
			t.Errorf("%d of the tasks have a %s: too few", forms[name], name)
		}
	}
}

func interleaved(op *td.Op) bool {
	for i := decodedX; i < min(len(op.Operands), decodedMask); i++ {
		if o := &op.Operands[i]; o.Interleave > 1 && o.Dims[td.AxisC] > 1 {
			return true
		}
	}
	return false
}

// Tiles of a masked tensor find by themselves where their elements begin: a
// tensor of several chunks for each of them.
func TestVirtualDecodeManyTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(60, 256))
	for _, mask := range []tensor.DType{tensor.UInt1, tensor.Bool} {
		for _, dims := range [][td.NumAxes]int{{1, 1, 1, 1, 20011}, {3, 1, 67, 3, 33}} {
			total := dims[0] * dims[1] * dims[2] * dims[3] * dims[4]
			op := &td.Op{Params: &td.DeQuant{}, Operands: []td.Operand{
				operand256(tensor.Float16, dims[:]...), operand256(tensor.Int8, 1, 1, 1, 1, total), {}, {}, {}, operand256(mask, dims[:]...),
			}}
			b := newBench(t, r, op)
			for interleaved(op) {
				b = newBench(t, r, op)
			}
			var want []float64
			next := 0
			each(dims, func(i [td.NumAxes]int) {
				v := 0.0
				if b.get(decodedMask, i) != 0 {
					v = b.get(decodedX, [td.NumAxes]int{td.AxisW: next})
					next++
				}
				want = append(want, v)
			})
			b.run(t)
			each(dims, func(i [td.NumAxes]int) {
				if got := b.get(decodedY, i); got != want[linear(dims, i)] {
					t.Fatalf("%v mask: element %v is %v, want %v", mask, i, got, want[linear(dims, i)])
				}
			})
		}
	}
}

// BenchmarkDecode has the forms of weights that models have.
func BenchmarkDecode(b *testing.B) {
	weights := []int{512, 1, 512, 3, 3}
	total := 512 * 512 * 9
	y := operand256(tensor.Float16, weights...)
	ones := [td.NumAxes]int{1, 1, 1, 1, 1}
	for name, op := range map[string]*td.Op{
		"int8 per channel": {Params: &td.DeQuant{}, Operands: []td.Operand{y, operand256(tensor.Int8, weights...), operand256(tensor.Float16, 512, 1, 1, 1, 1)}},
		"int4 in blocks":   {Params: &td.DeQuant{}, Operands: []td.Operand{y, operand256(tensor.Int4, weights...), operand256(tensor.Float16, 512, 1, 16, 1, 1)}},
		"palette of 16":    {Params: &td.DeQuant{Blocks: ones}, Operands: []td.Operand{y, operand256(tensor.UInt4, weights...), {}, {}, operand256(tensor.Float16, 1, 1, 1, 16, 1)}},
		"palette of 256":   {Params: &td.DeQuant{Blocks: ones}, Operands: []td.Operand{y, operand256(tensor.UInt8, weights...), {}, {}, operand256(tensor.Float16, 1, 1, 1, 256, 1)}},
		"sparse": {Params: &td.DeQuant{}, Operands: []td.Operand{
			y, operand256(tensor.Float16, 1, 1, 1, 1, total/2), {}, {}, {}, operand256(tensor.UInt1, weights...)}},
	} {
		b.Run(name, func(b *testing.B) {
			bench := &bench{op: op, memories: make([][]byte, len(op.Operands))}
			r := rand.New(rand.NewPCG(1, 2))
			for i := range op.Operands {
				o := &op.Operands[i]
				if !o.Present() {
					continue
				}
				*o = td.Dense(i, 0, o.Type, o.Dims)
				_, size, _ := o.Extent()
				bench.memories[i] = make([]byte, size)
				if o.Type != tensor.Float16 {
					for j := range bench.memories[i] {
						bench.memories[i][j] = byte(r.Uint32())
					}
				}
			}
			p, err := bench.program()
			if err != nil {
				b.Fatal(err)
			}
			c := p.NewContext()
			copy(c.memories, bench.memories)
			for b.Loop() {
				if err := p.RunAll(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(total)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s")
		})
	}
}
