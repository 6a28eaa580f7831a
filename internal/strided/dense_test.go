package strided

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A denseCase is a dense convolution, and the same one as an operation.
type denseCase struct {
	shape        convShape
	groups       int
	source, bias []float32
	weights      []uint16
	constant     bool // the weights are
}

func randomDense(r *rand.Rand) *denseCase {
	c := &denseCase{groups: 1 + r.IntN(3), constant: r.IntN(2) == 0}
	s := &c.shape
	*s = convShape{
		hin: 1 + r.IntN(9), win: 1 + r.IntN(9), cout: 1 + r.IntN(11),
		kh: 1 + r.IntN(4), kw: 1 + r.IntN(4), sy: 1 + r.IntN(3), sx: 1 + r.IntN(3),
		inputs: 1 + r.IntN(5), unicast: r.IntN(3) == 0,
	}
	switch r.IntN(4) {
	case 0: // a matrix times a vector
		s.hin, s.win, s.kh, s.kw, s.inputs, s.unicast = 1, 1, 1, 1, 1+r.IntN(600), false
	case 1: // times a matrix
		s.kh, s.kw, s.sy, s.sx, s.inputs, s.unicast = 1, 1, 1, 1, 1+r.IntN(300), false
	}
	s.cin = s.inputs
	if s.unicast {
		s.cin *= s.cout
	}
	s.py, s.px = r.IntN(s.kh), r.IntN(s.kw)
	s.hout, s.wout = 1+(s.hin-1+s.py)/s.sy, 1+(s.win-1+s.px)/s.sx
	c.source = normals(r, c.groups*s.cin*s.hin*s.win)
	for range c.groups * s.cout * s.weights() {
		c.weights = append(c.weights, half.Bits(float32(r.NormFloat64())))
	}
	if c.constant && r.IntN(2) == 0 {
		c.bias = normals(r, c.groups*s.cout)
	}
	return c
}

// normals are random fp16 numbers.
func normals(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = half.Float(half.Bits(float32(r.NormFloat64())))
	}
	return v
}

// run runs the dense convolution, in tiles that are cut at random.
func (c *denseCase) run(r *rand.Rand, rules *Rules, row *gemm.Row) []float32 {
	s := &c.shape
	d := Buffers{Source1: c.source, Result: make([]float32, c.groups*s.cout*s.hout*s.wout)}
	packs := new(Packs)
	var constant *Weights
	if c.constant {
		constant = &Weights{Values: c.weights, Bias: c.bias}
	} else {
		for _, h := range c.weights {
			d.Weights = append(d.Weights, half.Float(h))
		}
	}
	k := newDense(*s, c.groups, rules, row, packs, constant)
	w := NewScratch(k.Need())
	w.Dense = &d
	w.Packed = packs.New(make([]byte, packs.Room()))
	for i := range w.Packed {
		packs.Fill(w.Packed, i, nil, nil)
	}
	n, _ := k.Tiles()
	for lo := 0; lo < n; {
		hi := lo + 1 + r.IntN(n-lo)
		k.Run(w, lo, hi)
		lo = hi
	}
	return d.Result
}

// operation is the convolution as an operation, whose result is fp32.
func (c *denseCase) operation(t *testing.T, rules *Rules, row *gemm.Row) []float32 {
	t.Helper()
	s := &c.shape
	groups := c.groups
	if s.unicast {
		groups *= s.cout
	}
	op := &Op{
		Rules: rules, Gemm: row,
		Operands: []Operand{
			dense(0, tensor.Float32, 1, 1, c.groups*s.cout, s.hout, s.wout), dense(1, tensor.Float16, 1, 1, c.groups*s.cin, s.hin, s.win),
			dense(2, tensor.Float16, c.groups*s.cout, 1, s.inputs, s.kh, s.kw),
		},
		Params: &td.Convolution{Groups: groups, Window: td.Window{
			Kernel: [3]int{1, s.kh, s.kw}, Stride: [3]int{1, s.sy, s.sx}, Dilation: [3]int{1, 1, 1}, PadBefore: [3]int{0, s.py, s.px},
		}},
	}
	if c.bias != nil {
		op.Operands = append(op.Operands, dense(3, tensor.Float16, 1, 1, len(c.bias), 1, 1))
	}
	k, err := Bind(op)
	if err != nil {
		t.Fatal(err)
	}
	w := NewScratch(k.Need())
	for i := range op.Operands {
		w.Memory = append(w.Memory, make([]byte, op.Operands[i].bytes()))
	}
	put := func(base int, values []float32) {
		for i, v := range values {
			binary.LittleEndian.PutUint16(w.Memory[base][2*i:], half.Bits(v))
		}
	}
	put(1, c.source)
	for i, h := range c.weights {
		binary.LittleEndian.PutUint16(w.Memory[2][2*i:], h)
	}
	if c.bias != nil {
		put(3, c.bias)
	}
	n, _ := k.Tiles()
	k.Run(w, 0, n)
	y := make([]float32, len(w.Memory[0])/4)
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(w.Memory[0][4*i:]))
	}
	return y
}

// exact is the sum of one element in fp64, and the sum of the magnitudes.
func (c *denseCase) exact(at int) (sum, magnitudes float64) {
	s := &c.shape
	x, y, o := at%s.wout, at/s.wout%s.hout, at/s.wout/s.hout
	first := o / s.cout * s.cin
	if s.unicast {
		first += o % s.cout * s.inputs
	}
	if c.bias != nil {
		sum, magnitudes = float64(c.bias[o]), math.Abs(float64(c.bias[o]))
	}
	for i := range s.weights() {
		h, w := y*s.sy+i/s.kw%s.kh-s.py, x*s.sx+i%s.kw-s.px
		if h < 0 || h >= s.hin || w < 0 || w >= s.win {
			continue
		}
		p := float64(c.source[((first+i/s.kw/s.kh)*s.hin+h)*s.win+w]) * float64(half.Float(c.weights[o*s.weights()+i]))
		sum += p
		magnitudes += math.Abs(p)
	}
	return sum, magnitudes
}

func TestDense(t *testing.T) {
	forRows(t, func(t *testing.T, row *gemm.Row) {
		r := rand.New(rand.NewPCG(7, 7))
		for i := range 300 {
			c := randomDense(r)
			n := c.shape.weights()
			for at, got := range c.run(r, nil, row) {
				want, magnitudes := c.exact(at)
				if math.Abs(float64(got)-want) > 0x1p-24*max(row.Bound(n), float64(min(n, 256)))*magnitudes { // in unicast, one sum
					t.Fatalf("case %d, %+v: element %d is %v, want %v", i, c.shape, at, got, want)
				}
			}
		}
	})
}

// By the rules of a chip, a dense convolution and an operation give the same:
// whatever is infinite, cancels, passes the port or is added up in lanes.
func TestDenseIsConvolution(t *testing.T) { forRows(t, denseIsConvolution) }

func denseIsConvolution(t *testing.T, row *gemm.Row) {
	r := rand.New(rand.NewPCG(7, 13))
	for i := range 300 {
		c := randomDense(r)
		if c.shape.weights() == 1 {
			continue // no sum: the port is not asked
		}
		for range r.IntN(4) {
			c.source[r.IntN(len(c.source))] = []float32{infinity, -infinity, 60000, -60000, 0}[r.IntN(5)]
		}
		if c.bias != nil && r.IntN(3) == 0 {
			c.bias[r.IntN(len(c.bias))] = -30000
		}
		rules := rulesOf(hal.Numerics{
			IndeterminateToZero: true, NaNToInf: true, SaturatePartials: r.IntN(2) == 0, SaturateAtPort: 32768, TileLanes: 4 * r.IntN(2),
		})
		got := c.run(r, rules, row)
		rules.arrival(td.ClassConv).apply(got)
		same := func(a, b float32) bool { // beside matrices, sums are in the order of the products
			return a == b || !row.Exact && math.Abs(float64(a-b)) <= 1e-4*(1+math.Abs(float64(b)))
		}
		if want := c.operation(t, rules, row); !slices.EqualFunc(got, want, same) {
			t.Fatalf("case %d: %+v\n%+v of %d groups: %v\nwant %v", i, *rules, c.shape, c.groups, got, want)
		}
	}
}
