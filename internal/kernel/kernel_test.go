package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// checks has a test for each row. It compares a kernel, run tile by tile, with
// the plain definition.
var checks = map[string]func(t *testing.T, r *rand.Rand){
	"gather":          checkGather,
	"scatter":         checkScatter,
	"copy":            checkCopy,
	"weights":         checkWeights,
	"planar-one":      checkPlanar,
	"planar-two":      checkPlanar,
	"planar-gain":     checkGain,
	"reduce-plane":    checkReducePlane,
	"reduce-channels": checkReduceChannels,
	"array-output":    checkArrayOutput,
	"relu":            checkReLU,
	"table":           checkTable,
}

func TestRows(t *testing.T) {
	seen := make(map[string]bool)
	for _, row := range Rows() {
		if seen[row.Name] || row.Doc == "" {
			t.Errorf("row %q stands twice or says nothing", row.Name)
		}
		seen[row.Name] = true
		check, ok := checks[row.Name]
		if !ok {
			t.Errorf("kernel %q has no check", row.Name)
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range 50 {
				check(t, r)
			}
		})
	}
	if len(seen) != len(checks) {
		t.Errorf("%d kernels, %d checks", len(seen), len(checks))
	}
}

// tiles calls f with ranges that cover n, cut at random.
func tiles(r *rand.Rand, n int, f func(lo, hi int)) {
	for lo := 0; lo < n; {
		hi := lo + 1 + r.IntN(n-lo)
		f(lo, hi)
		lo = hi
	}
}

// numbers returns small numbers whose products add up exactly.
func numbers(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(65)-32) / 8
	}
	return v
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// randomView makes a view over some memory, with any axes exchanged, pads
// between them, and perhaps lanes.
func randomView(r *rand.Rand) (v View, bytes int) {
	order := r.Perm(Axes) // from the innermost outwards
	for axis := range v.Dims {
		v.Dims[axis] = 1 + r.IntN(5)
	}
	v.Offset = 2 * r.IntN(8)
	reach := 2
	if r.IntN(2) == 0 {
		v.Lanes, v.LaneAxis, v.LaneStride = 2+r.IntN(3), order[0], 2
		reach *= v.Lanes
	}
	for _, axis := range order {
		v.Strides[axis] = reach + 2*r.IntN(3)
		n := v.Dims[axis]
		if v.Lanes > 1 && axis == v.LaneAxis {
			n = (n + v.Lanes - 1) / v.Lanes
		}
		reach = v.Strides[axis] * n
	}
	return v, v.Offset + reach
}

// at is the place of an element, by the definition.
func (v *View) at(g, c, d, h, w int) int {
	at := v.Offset
	for axis, i := range []int{g, c, d, h, w} {
		if v.Lanes > 1 && axis == v.LaneAxis {
			at += i / v.Lanes * v.Strides[axis]
			at += i % v.Lanes * v.LaneStride
		} else {
			at += i * v.Strides[axis]
		}
	}
	return at
}

// each calls f with the elements of a view in the order of the axes.
func (v *View) each(f func(i, at int)) {
	i := 0
	for g := range v.Dims[G] {
		for c := range v.Dims[C] {
			for d := range v.Dims[D] {
				for h := range v.Dims[H] {
					for w := range v.Dims[W] {
						f(i, v.at(g, c, d, h, w))
						i++
					}
				}
			}
		}
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func checkGather(t *testing.T, r *rand.Rand) {
	v, size := randomView(r)
	memory := randomBytes(r, size)
	if r.IntN(3) == 0 {
		axis := r.IntN(Axes) // a broadcast
		v.Strides[axis] = 0
		if axis == v.LaneAxis {
			v.Lanes = 0
		}
	}
	v.Bytes = r.IntN(4) == 0
	rd := Reading{ReLU: r.IntN(2) == 0, NaNToInf: r.IntN(2) == 0, FlushSubnormals: r.IntN(2) == 0}
	got, want := make([]float32, v.Len()), make([]float32, v.Len())
	v.each(func(i, at int) {
		x := tensor.F16(uint16(memory[at]) | uint16(memory[at+1])<<8)
		if v.Bytes {
			x = float32(memory[at])
		}
		if rd.NaNToInf && x != x {
			x = float32(math.Inf(1))
		}
		if rd.FlushSubnormals && math.Abs(float64(x)) < 0x1p-14 {
			x = 0
		}
		if rd.ReLU && x <= 0 {
			x = 0
		}
		want[i] = x
	})
	tiles(r, v.Rows(), func(lo, hi int) { Gather(got, memory, &v, rd, lo, hi) })
	same(t, "gather", got, want)
}

func checkScatter(t *testing.T, r *rand.Rand) {
	v, size := randomView(r)
	got, want := randomBytes(r, size), make([]byte, size)
	copy(want, got)
	src := numbers(r, v.Len())
	src[0] = float32(math.NaN())
	rounding := Rounding{HalfAway: r.IntN(2) == 0, NaNToInf: r.IntN(2) == 0}
	v.each(func(i, at int) {
		h := tensor.ToF16(src[i]) // nothing to round here; see TestRounding
		if rounding.NaNToInf && src[i] != src[i] {
			h = 0x7c00
		}
		want[at], want[at+1] = byte(h), byte(h>>8)
	})
	tiles(r, v.Rows(), func(lo, hi int) { Scatter(got, &v, src, rounding, lo, hi) })
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("byte %d is %#x, want %#x", i, got[i], want[i])
		}
	}
}

func checkCopy(t *testing.T, r *rand.Rand) {
	from, size := randomView(r)
	src := randomBytes(r, size)
	// The same size in another layout: dense, perhaps with C and W exchanged.
	to := View{Dims: from.Dims, Offset: 2 * r.IntN(4)}
	order := []int{W, H, D, C, G}
	if r.IntN(2) == 0 {
		order = []int{C, H, W, D, G}
	}
	reach := 2
	for _, axis := range order {
		to.Strides[axis] = reach
		reach *= to.Dims[axis]
	}
	got := make([]byte, to.Offset+reach)
	tiles(r, from.Rows(), func(lo, hi int) { Copy(got, &to, src, &from, lo, hi) })
	places := make([]int, from.Len())
	to.each(func(i, at int) { places[i] = at })
	from.each(func(i, at int) {
		if got[places[i]] != src[at] || got[places[i]+1] != src[at+1] {
			t.Fatalf("element %d was not copied", i)
		}
	})
}

func checkWeights(t *testing.T, r *rand.Rand) {
	outputs, count, stride := 1+r.IntN(5), 1+r.IntN(5), 2*(1+r.IntN(4))
	memory := randomBytes(r, 1000)
	first := make([]int, outputs)
	for i := range first {
		first[i] = 2 * r.IntN(400)
	}
	got, want := make([]float32, outputs*count), make([]float32, outputs*count)
	for i := range want {
		at := first[i/count] + i%count*stride
		want[i] = tensor.F16(uint16(memory[at]) | uint16(memory[at+1])<<8)
	}
	tiles(r, outputs, func(lo, hi int) { Weights(got, memory, first, count, stride, Reading{}, lo, hi) })
	same(t, "weights", got, want)
}

func checkPlanar(t *testing.T, r *rand.Rand) {
	n := 1 + r.IntN(40)
	x, y := numbers(r, n), numbers(r, n)
	p := &Planar{
		PreScale: 0.5, Negate1: r.IntN(2) == 0, Negate2: r.IntN(2) == 0, Op: PlanarOp(r.IntN(5)),
		Scale: 2, Bias: 0.25, Abs: r.IntN(3) == 0, ReLU: r.IntN(3) == 0,
	}
	sign := map[bool]float32{false: 1, true: -1}
	finish := func(v float32) float32 {
		v = v*2 + 0.25
		if p.Abs && v < 0 {
			v = -v
		}
		if p.ReLU && v <= 0 {
			v = 0
		}
		return v
	}
	one, two := make([]float32, n), make([]float32, n)
	wantOne, wantTwo := make([]float32, n), make([]float32, n)
	for i := range x {
		a, b := sign[p.Negate1]*x[i]*0.5, sign[p.Negate2]*y[i]
		wantOne[i] = finish(a)
		if p.Op == SquareSum {
			wantOne[i] = finish(a * a)
		}
		wantTwo[i] = finish([]float32{a + b, a * b, max(a, b), min(a, b), (a + b) * (a + b)}[p.Op])
	}
	tiles(r, n, func(lo, hi int) { PlanarOne(one, x, p, lo, hi) })
	tiles(r, n, func(lo, hi int) { PlanarTwo(two, x, y, p, lo, hi) })
	same(t, "one source", one, wantOne)
	same(t, "two sources", two, wantTwo)
}

func checkGain(t *testing.T, r *rand.Rand) {
	channels, plane := 1+r.IntN(5), 1+r.IntN(5)
	x, offset, gain := numbers(r, channels*plane), numbers(r, channels), numbers(r, channels)
	p := &Planar{PreScale: 1, Scale: 1, Negate2: r.IntN(2) == 0}
	got := make([]float32, len(x))
	tiles(r, channels, func(lo, hi int) { PlanarGain(got, x, offset, gain, plane, p, lo, hi) })
	for i, v := range x {
		o := offset[i/plane]
		if p.Negate2 {
			o = -o
		}
		if want := (v + o) * gain[i/plane]; got[i] != want {
			t.Fatalf("element %d is %v, want %v", i, got[i], want)
		}
	}
}

func checkReducePlane(t *testing.T, r *rand.Rand) {
	n, plane := 1+r.IntN(5), 1+r.IntN(9)
	src := numbers(r, n*plane)
	red := &Reduction{Op: []ReduceOp{Sum, Largest}[r.IntN(2)], Scale: 0.5, Epsilon: 0.125, Func: FinalFunc(r.IntN(3))}
	got := make([]float32, n)
	tiles(r, n, func(lo, hi int) { ReducePlane(got, src, plane, red, lo, hi) })
	want := make([]float32, n)
	for i := range want {
		row := src[i*plane : (i+1)*plane]
		sum, largest := 0.0, math.Inf(-1)
		for _, v := range row {
			sum += float64(v)
			largest = max(largest, float64(v))
		}
		if red.Op == Largest {
			sum = largest
		}
		sum = sum*0.5 + 0.125
		want[i] = float32([]float64{sum, 1 / sum, 1 / math.Sqrt(sum)}[red.Func])
	}
	same(t, "reduce", got, want)
}

func checkReduceChannels(t *testing.T, r *rand.Rand) {
	s := &ConvShape{Cout: 1 + r.IntN(4), Inputs: 1 + r.IntN(4), Hout: 1 + r.IntN(3), Wout: 1 + r.IntN(3), Unicast: true}
	s.Cin, s.Hin, s.Win = s.Cout*s.Inputs, s.Hout, s.Wout
	plane := s.Hout * s.Wout
	src := numbers(r, s.Cin*plane)
	for _, op := range []ReduceOp{Sum, Largest} {
		got := make([]float32, s.Cout*plane)
		tiles(r, s.Cout, func(lo, hi int) { ReduceChannels(got, src, op, s, false, lo, hi) })
		for i, v := range got {
			want := float32(0)
			if op == Largest {
				want = float32(math.Inf(-1))
			}
			for c := range s.Inputs {
				x := src[(i/plane*s.Inputs+c)*plane+i%plane]
				if op == Sum {
					want += x
				} else {
					want = max(want, x)
				}
			}
			if v != want {
				t.Fatalf("op %d: element %d is %v, want %v", op, i, v, want)
			}
		}
	}
}

func checkArrayOutput(t *testing.T, r *rand.Rand) {
	huge := float32(math.Inf(1))
	for _, test := range []struct {
		a       ArrayOutput
		x, want float32
	}{
		{ArrayOutput{Scale: 1}, 3, 3},
		{ArrayOutput{Scale: 0.5, Bias: 2}, 3, 2.5},
		{ArrayOutput{Scale: 1, SaturateAt: 32768}, 32752, 32752},
		{ArrayOutput{Scale: 1, SaturateAt: 32768}, 32760, huge}, // would be stored as 32768
		{ArrayOutput{Scale: 1, SaturateAt: 32768}, -32768, -huge},
		{ArrayOutput{Scale: 1, FlushSubnormals: true}, -0x1p-15, 0},
		{ArrayOutput{Scale: 1, FlushSubnormals: true}, 0x1p-14, 0x1p-14},
	} {
		v := []float32{7, test.x, 7}
		test.a.Apply(v, 1, 2)
		if v[0] != 7 || v[2] != 7 || v[1] != test.want {
			t.Fatalf("%+v of %v: got %v, want %v", test.a, test.x, v[1], test.want)
		}
	}
}

func checkReLU(t *testing.T, r *rand.Rand) {
	x := numbers(r, 20)
	got := append([]float32(nil), x...)
	tiles(r, 20, func(lo, hi int) { ReLU(got, lo, hi) })
	for i := range x {
		if got[i] != max(x[i], 0) {
			t.Fatalf("relu of %v is %v", x[i], got[i])
		}
	}
}

func checkTable(t *testing.T, r *rand.Rand) {
	x := numbers(r, 20)
	got := append([]float32(nil), x...)
	tiles(r, 20, func(lo, hi int) { Table(got, func(v float32) float32 { return v*v + 1 }, lo, hi) })
	for i := range x {
		if got[i] != x[i]*x[i]+1 {
			t.Fatalf("table of %v is %v", x[i], got[i])
		}
	}
}
