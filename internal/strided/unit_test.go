package strided

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// numbers returns small numbers whose products add up exactly.
func numbers(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(65)-32) / 8
	}
	return v
}

func sameFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// inTiles runs a kernel in tiles that are cut at random.
func inTiles(r *rand.Rand, k Kernel, w *Scratch) {
	n, _ := k.Tiles()
	w.Grow(k.Need())
	for lo := 0; lo < n; {
		hi := lo + 1 + r.IntN(n-lo)
		k.Run(w, lo, hi)
		lo = hi
	}
}

// randomPlaced makes an operand as the units have them, with any axes innermost,
// gaps between them, and perhaps interleaved elements along C, or along W if these
// two are exchanged.
func randomPlaced(r *rand.Rand, memory int) (o Operand, bytes int) {
	o = Operand{Memory: memory, Exchanged: r.IntN(2) == 0, Operand: td.Operand{
		Type: tensor.Float16, Interleave: 1, Offset: int64(2 * r.IntN(8)),
	}}
	lane := axisC
	if o.Exchanged {
		lane = axisW
	}
	order := r.Perm(td.NumAxes) // from the innermost outwards
	for a := range o.Dims {
		o.Dims[a] = 1 + r.IntN(5)
	}
	if r.IntN(8) == 0 { // a long row
		o.Dims[axisW] = 60 + r.IntN(20)
	}
	reach := 2
	if r.IntN(2) == 0 {
		o.Interleave = uint8(2 + r.IntN(3))
		reach *= int(o.Interleave)
	}
	for _, a := range order {
		stride := reach + 2*r.IntN(3)
		n := o.Dims[a]
		if a == lane {
			n = (n + int(o.Interleave) - 1) / int(o.Interleave)
		}
		o.Strides[a] = int64(stride)
		reach = stride * n
	}
	return o, int(o.Offset) + reach
}

// eachPlaced calls f with the elements of an operand in the order of the dense
// arrays, and where each lies, by the definition.
func eachPlaced(o *Operand, f func(i, at int)) {
	lane := axisC
	if o.Exchanged {
		lane = axisW
	}
	i := 0
	for n := range o.Dims[axisN] {
		for c := range o.Dims[axisC] {
			for d := range o.Dims[axisD] {
				for h := range o.Dims[axisH] {
					for w := range o.Dims[axisW] {
						at := int(o.Offset)
						for a, e := range [td.NumAxes]int{n, d, c, h, w} {
							if a == lane {
								at += e % int(o.Interleave) * o.Type.Size()
								e /= int(o.Interleave)
							}
							at += e * int(o.Strides[a])
						}
						f(i, at)
						i++
					}
				}
			}
		}
	}
}

func placedDims(o *Operand) denseDims {
	return denseDims{o.Dims[axisN], units.Size{W: o.Dims[axisW], H: o.Dims[axisH], D: o.Dims[axisD], C: o.Dims[axisC]}}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func halfAt(b []byte, at int) uint16 { return uint16(b[at]) | uint16(b[at+1])<<8 }

// Loading and storing are their definitions, whatever the layout.
func TestLoadAndStore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		o, size := randomPlaced(r, 0)
		if r.IntN(4) == 0 {
			o.Type = tensor.UInt8
		}
		memory := randomBytes(r, size)
		n := elements(o.Dims)
		pass := passage(r.IntN(64)) & (passNaN | passFlush | passReLU)
		want := make([]float32, n)
		eachPlaced(&o, func(i, at int) {
			x := float32(memory[at])
			if o.Type == tensor.Float16 {
				x = tensor.F16(halfAt(memory, at))
			}
			if pass&passNaN != 0 && x != x {
				x = infinity
			}
			if pass&passFlush != 0 && math.Abs(float64(x)) < 0x1p-14 {
				x = 0
			}
			if pass&passReLU != 0 && x <= 0 {
				x = 0
			}
			want[i] = x
		})
		w := &Scratch{Memory: [][]byte{memory}, Dense: &Buffers{Source1: make([]float32, n)}}
		inTiles(r, newLoader(&o, pass, placedDims(&o), (*Buffers).source1), w)
		sameFloats(t, "load", w.Dense.Source1, want)

		// What is stored is what was loaded.
		rules := []*Rules{nil, RulesOf(hal.Numerics{NaNToInf: true}), RulesOf(hal.Numerics{RoundHalfEven: true, NaNToInf: true})}[r.IntN(3)]
		d := placedDims(&o)
		u := &Unit{Op: &units.Op{Groups: d.groups, Out: d.Size}, Result: o, Rules: rules}
		stored, before := randomBytes(r, size), make([]byte, size)
		copy(before, stored)
		w.Memory, w.Dense.Result = [][]byte{stored}, append([]float32(nil), want...)
		inTiles(r, newStorer(u), w)
		eachPlaced(&o, func(i, at int) {
			if o.Type == tensor.UInt8 {
				if got, want := stored[at], byte(want[i]); got != want {
					t.Fatalf("byte %d is %d, want %d", i, got, want)
				}
				before[at] = stored[at]
				return
			}
			h := tensor.ToF16(want[i]) // nothing to round here
			if rules != nil && want[i] != want[i] {
				h = 0x7c00
			}
			if got := halfAt(stored, at); got != h && (got&0x7fff <= 0x7c00 || h&0x7fff <= 0x7c00) {
				t.Fatalf("element %d is %#x, want %#x", i, got, h)
			}
			before[at], before[at+1] = stored[at], stored[at+1]
		})
		if string(before) != string(stored) {
			t.Fatal("more is written than the elements")
		}
	}
}

// Bytes are written rounded, and held to their range: as bools, which are 0 and 1, they come back.
func TestStoreBytes(t *testing.T) {
	values := []float32{0, 1, 0.4, 0.6, 1.5, 2.5, -1, 255, 256, infinity, -infinity, float32(math.NaN())}
	want := []byte{0, 1, 0, 1, 2, 2, 0, 255, 255, 255, 0, 0}
	for _, rules := range []*Rules{nil, RulesOf(hal.Numerics{NaNToInf: true})} {
		u := &Unit{Op: &units.Op{Groups: 1, Out: units.Size{W: len(values), H: 1, D: 1, C: 1}}, Result: dense(0, tensor.UInt8, 1, 1, 1, 1, len(values)), Rules: rules}
		w := &Scratch{Memory: [][]byte{make([]byte, len(values))}, Dense: &Buffers{Result: append([]float32(nil), values...)}}
		newStorer(u).Run(w, 0, len(values))
		for i, b := range want {
			if w.Memory[0][i] != b {
				t.Errorf("%v is written as %d, want %d", values[i], w.Memory[0][i], b)
			}
		}
	}
}

// A source is kept bit for bit.
func TestKeep(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	for range 200 {
		from, size := randomPlaced(r, 0)
		to := td.Dense(0, int64(2*r.IntN(4)), tensor.Float16, from.Dims)
		kept := Operand{Operand: to, Memory: 1}
		_, end, _ := to.Extent()
		w := &Scratch{Memory: [][]byte{randomBytes(r, size), make([]byte, end)}}
		inTiles(r, newKeeper(&Unit{Op: &units.Op{}, Source1: from, Kept: &kept}), w)
		places := make([]int, elements(from.Dims))
		eachPlaced(&kept, func(i, at int) { places[i] = at })
		eachPlaced(&from, func(i, at int) {
			if halfAt(w.Memory[1], places[i]) != halfAt(w.Memory[0], at) {
				t.Fatalf("element %d was not copied", i)
			}
		})
	}
}

// Weights that are made at run time lie in memory as streams do.
func TestRuntimeWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 100 {
		count, stride := 1+r.IntN(5), 2*(1+r.IntN(4))
		memory := randomBytes(r, 1000)
		first := make([]int, 1+r.IntN(5))
		for i := range first {
			first[i] = 2 * r.IntN(400)
		}
		want := make([]float32, len(first)*count)
		for i := range want {
			want[i] = tensor.F16(halfAt(memory, first[i/count]+i%count*stride))
		}
		w := &Scratch{Memory: [][]byte{memory}, Dense: &Buffers{Weights: make([]float32, len(want))}}
		inTiles(r, newWeightLoader(&RuntimeWeights{First: first, Stride: stride}, count, 0), w)
		sameFloats(t, "weights", w.Dense.Weights, want)
	}
}

func TestPlanar(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for range 200 {
		n := 1 + r.IntN(40)
		x, y := numbers(r, n), numbers(r, n)
		p := &planar{
			preScale: 0.5, negate1: r.IntN(2) == 0, negate2: r.IntN(2) == 0, operator: uint32(r.IntN(5)),
			scale: 2, bias: 0.25, abs: r.IntN(3) == 0, relu: r.IntN(3) == 0,
		}
		if r.IntN(3) == 0 { // nothing but the operator
			p = &planar{preScale: 1, negate2: r.IntN(2) == 0, operator: uint32(r.IntN(5)), scale: 1}
		}
		sign := map[bool]float32{false: 1, true: -1}
		finish := func(v float32) float32 {
			v = v*p.scale + p.bias
			if p.abs && v < 0 {
				v = -v
			}
			if p.relu && v <= 0 {
				v = 0
			}
			return v
		}
		one, two := make([]float32, n), make([]float32, n)
		wantOne, wantTwo := make([]float32, n), make([]float32, n)
		for i := range x {
			a, b := sign[p.negate1]*x[i]*p.preScale, sign[p.negate2]*y[i]
			wantOne[i] = finish(a)
			if p.operator == units.PlanarSquare {
				wantOne[i] = finish(a * a)
			}
			wantTwo[i] = finish([]float32{a + b, a * b, max(a, b), min(a, b), (a + b) * (a + b)}[p.operator])
		}
		p.one(one, x)
		p.two(two, x, slices.Clone(y))
		sameFloats(t, "one source", one, wantOne)
		sameFloats(t, "two sources", two, wantTwo)

		channels, plane := 1+r.IntN(5), 1+r.IntN(5)
		g := &planar{preScale: 1, scale: 1, negate2: p.negate2}
		x, offset, gain := numbers(r, channels*plane), numbers(r, channels), numbers(r, channels)
		got := make([]float32, len(x))
		for c := range channels {
			g.gain(got[c*plane:][:plane], x[c*plane:][:plane], offset[c], gain[c])
		}
		for i, v := range x {
			if want := (v + sign[g.negate2]*offset[i/plane]) * gain[i/plane]; got[i] != want {
				t.Fatalf("gain: element %d is %v, want %v", i, got[i], want)
			}
		}
	}
}

func TestPlaneReductions(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	for range 200 {
		plane := numbers(r, 1+r.IntN(9))
		red := &planeReduction{largest: r.IntN(2) == 0, scale: 0.5, epsilon: 0.125, final: uint32(r.IntN(3))}
		sum, largest := 0.0, math.Inf(-1)
		for _, v := range plane {
			sum += float64(v)
			largest = max(largest, float64(v))
		}
		if red.largest {
			sum = largest
		}
		sum = sum*0.5 + 0.125
		want := []float64{sum, 1 / sum, 1 / math.Sqrt(sum)}[red.final]
		sameFloats(t, "reduce", []float32{red.reduce(plane)}, []float32{float32(want)})
	}
}

func TestReduceChannels(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	for range 100 {
		s := &convShape{cout: 1 + r.IntN(4), inputs: 1 + r.IntN(4), hout: 1 + r.IntN(3), wout: 1 + r.IntN(3), unicast: true}
		s.cin, s.hin, s.win = s.cout*s.inputs, s.hout, s.wout
		plane := s.hout * s.wout
		src := numbers(r, s.cin*plane)
		for _, operation := range []uint32{units.MultiplyAdd, units.Maximum, units.Product} {
			got := make([]float32, s.cout*plane)
			reduceChannels(got, src, operation, s, false, 0, s.cout)
			for i, v := range got {
				want := map[uint32]float32{units.Maximum: -infinity, units.Product: 1}[operation]
				for c := range s.inputs {
					x := src[(i/plane*s.inputs+c)*plane+i%plane]
					switch operation {
					case units.MultiplyAdd:
						want += x
					case units.Maximum:
						want = max(want, x)
					default:
						want *= x
					}
				}
				if v != want {
					t.Fatalf("operation %d: element %d is %v, want %v", operation, i, v, want)
				}
			}
		}
	}
}

func TestArrayOutput(t *testing.T) {
	square := &Activation{F: func(v float32) float32 { return v*v + 1 }}
	chip := RulesOf(hal.Numerics{RoundHalfEven: true, SaturateAtPort: 32768, FlushArraySubnormals: true})
	for _, test := range []struct {
		u       units.Op
		rules   *Rules
		table   *Activation
		x, want float32
	}{
		{units.Op{Post: half.Bits(0.5), Accumulate: half.Bits(2)}, nil, nil, 3, 2.5},
		{units.Op{Post: units.One, NonLinear: units.ReLU}, nil, nil, -3, 0},
		{units.Op{Post: units.One, NonLinear: units.Table}, nil, square, 3, 10},
		{units.Op{Post: units.One}, chip, nil, 32752, 32752},
		{units.Op{Post: units.One}, chip, nil, 32760, infinity}, // would be stored as 32768
		{units.Op{Post: units.One}, chip, nil, -32768, -infinity},
		{units.Op{Post: units.One}, chip, nil, -0x1p-15, 0},
		{units.Op{Post: units.One}, chip, nil, 0x1p-14, 0x1p-14},
		{units.Op{Post: units.One, Operation: units.Maximum, Unity: true}, chip, nil, 40000, 0}, // no sum: nil
	} {
		out := newArrayOutput(&Unit{Op: &test.u, Rules: test.rules, Table: test.table})
		if test.u.Operation == units.Maximum {
			if out != nil {
				t.Errorf("%+v goes through the port", test.u)
			}
			continue
		}
		v := []float32{test.x}
		out.apply(v)
		if v[0] != test.want {
			t.Errorf("%+v of %v: got %v, want %v", test.u, test.x, v[0], test.want)
		}
	}
	if out := newArrayOutput(&Unit{Op: &units.Op{Post: units.One}}); out != nil {
		t.Error("an output that changes nothing is not left out")
	}
}
