package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Every loop is held to its plain form, over edge sizes, at any alignment, with
// special numbers; and writes nothing outside its room.

var inf = float32(math.Inf(1))

// room is a slice of n floats, off a boundary, between guards.
type room struct{ all, v []float32 }

const guard = -77777

func newRoom(n, off int) room {
	all := make([]float32, off+n+40)
	for i := range all {
		all[i] = guard
	}
	return room{all, all[off:][:n]}
}

func (r room) check(t *testing.T, what string) {
	t.Helper()
	off := cap(r.all) - cap(r.v)
	for i, x := range r.all {
		if (i < off || i >= off+len(r.v)) && x != guard {
			t.Fatalf("%s: wrote at %d of %d", what, i-off, len(r.v))
		}
	}
}

func fill(r *rand.Rand, v []float32, specials bool) {
	special := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), 65504, 0x1p-24, 0x1p-140}
	for i := range v {
		if v[i] = float32(r.NormFloat64()); specials && r.IntN(4) == 0 {
			v[i] = special[r.IntN(len(special))]
		}
	}
}

// near: within so many units of 2^-24 of a size, or both the same, or too small for a
// normal number.
func near(got, want, size float32, units float64) bool {
	return got == want || got != got && want != want || math.Abs(float64(got)-float64(want)) <= units*0x1p-24*float64(size)+0x1p-126
}

// forMachines runs a test with all machine code that can run here.
func forMachines(t *testing.T, test func(t *testing.T)) {
	best := use
	defer func() { use = best }()
	for _, use = range machines {
		t.Run(use.name, test)
	}
}

func eachCase(t *testing.T, test func(t *testing.T, r *rand.Rand, off int, specials bool)) {
	forMachines(t, func(t *testing.T) {
		for seed := range uint64(60) {
			test(t, rand.New(rand.NewPCG(seed, 1)), int(seed%5), seed%3 == 2)
		}
	})
}

func TestRows(t *testing.T) {
	eachCase(t, func(t *testing.T, r *rand.Rand, off int, _ bool) {
		rows, cols := 1+r.IntN(20), 1+r.IntN(70)
		pitch, stride := RoundUp(cols)+16*r.IntN(2), 2*cols+r.IntN(9)
		src := make([]byte, (rows-1)*stride+2*cols)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		got, want := newRoom(rows*pitch, off), newRoom(rows*pitch, off)
		Rows(got.v, pitch, src, stride, rows, cols)
		goRows(want.v, pitch, src, stride, rows, cols)
		got.check(t, "rows")
		for i, x := range want.v {
			if math.Float32bits(got.v[i]) != math.Float32bits(x) && x == x {
				t.Fatalf("%d rows of %d: element %d is %g, expected %g", rows, cols, i, got.v[i], x)
			}
		}
	})
}

func TestTurn(t *testing.T) {
	eachCase(t, func(t *testing.T, r *rand.Rand, off int, specials bool) {
		rows, pitch := r.IntN(Lanes+1), 16*(1+r.IntN(6))
		src := make([]float32, rows*pitch+off)[off:]
		fill(r, src, specials)
		got, want := newRoom(pitch*Lanes, off), newRoom(pitch*Lanes, off)
		Turn(got.v, src, pitch, rows, 0.3)
		goTurn(want.v, src, pitch, 0, rows, 0.3)
		got.check(t, "turn")
		for i, x := range want.v {
			if !near(got.v[i], x, 0, 0) {
				t.Fatalf("%d rows of %d: element %d is %g, expected %g", rows, pitch, i, got.v[i], x)
			}
		}
	})
}

func TestScores(t *testing.T) {
	eachCase(t, func(t *testing.T, r *rand.Rand, off int, specials bool) {
		features, n, lanes := r.IntN(70), 1+r.IntN(40), 1+r.IntN(Lanes)
		pitch := RoundUp(features) + 16*r.IntN(2)
		q, k := make([]float32, features*Lanes), make([]float32, Keys(n)*pitch)
		fill(r, q, specials)
		fill(r, k, specials)
		var bias []float32
		each := r.IntN(3) == 0
		if !each && r.IntN(2) == 0 {
			bias = make([]float32, Keys(n))
			fill(r, bias, specials)
		}
		got, want := newRoom(Keys(n)*Lanes, off), newRoom(Keys(n)*Lanes, off)
		fill(r, got.v, specials)
		copy(want.v, got.v)
		Scores(got.v, q, k, pitch, features, n, lanes, bias, each)
		goScores(want.v, q, k, pitch, features, n, bias, each)
		got.check(t, "scores")
		for j := range n {
			for i := range lanes {
				size := float32(100)
				for f := range features {
					size += float32(math.Abs(float64(q[f*Lanes+i] * k[j*pitch+f])))
				}
				if g, w := got.v[j*Lanes+i], want.v[j*Lanes+i]; !near(g, w, size, float64(features)+2) {
					t.Fatalf("%d features, %d keys: score %d of position %d is %g, expected %g", features, n, j, i, g, w)
				}
			}
		}
	})
}

func TestPowers(t *testing.T) {
	eachCase(t, func(t *testing.T, r *rand.Rand, off int, specials bool) {
		lanes := 1 + r.IntN(Lanes)
		var got, want State
		got.Reset()
		want.Reset()
		for range 3 {
			n := 1 + r.IntN(30)
			g, w := newRoom(n*Lanes, off), make([]float32, n*Lanes)
			fill(r, g.v, specials)
			for i := range g.v {
				g.v[i] *= 20
				if i%Lanes == 3 {
					g.v[i] = -inf
				}
			}
			scale := []float32{1, 0.25}[r.IntN(2)] // neither rounds
			for i, x := range g.v {
				w[i] = x * scale
			}
			Powers(g.v, n, lanes, scale, &got)
			goPowers(w, n, &want)
			g.check(t, "powers")
			for i := range lanes {
				nan := want.Total[i] != want.Total[i]
				for j := range n {
					if a, b := g.v[j*Lanes+i], w[j*Lanes+i]; !near(a, b, b, 6) && !nan {
						t.Fatalf("%d keys: power %d of position %d is %g, expected %g", n, j, i, a, b)
					}
				}
				if a, b := got.Total[i], want.Total[i]; !near(a, b, b, 100) {
					t.Fatalf("the total of position %d is %g, expected %g", i, a, b)
				}
				if a, b := got.Down[i], want.Down[i]; !near(a, b, b, 6) && !nan {
					t.Fatalf("position %d is scaled down by %g, expected %g", i, a, b)
				}
				if !nan && got.Top[i] != want.Top[i] {
					t.Fatalf("the greatest score of position %d is %g, expected %g", i, got.Top[i], want.Top[i])
				}
			}
		}
	})
}

func TestDown(t *testing.T) {
	eachCase(t, func(t *testing.T, r *rand.Rand, off int, specials bool) {
		rows := r.IntN(40)
		var st State
		fill(r, st.Down[:], specials)
		o := newRoom(rows*Lanes, off)
		fill(r, o.v, specials)
		want := make([]float32, rows*Lanes)
		for i, x := range o.v {
			want[i] = x * st.Down[i%Lanes]
		}
		Down(o.v, rows, &st)
		o.check(t, "down")
		for i, x := range want {
			if !near(o.v[i], x, 0, 0) {
				t.Fatalf("%d rows: element %d is %g, expected %g", rows, i, o.v[i], x)
			}
		}
	})
}

func TestValues(t *testing.T) {
	eachCase(t, func(t *testing.T, r *rand.Rand, off int, specials bool) {
		n, rows, pitch := 1+r.IntN(20), 1+r.IntN(Lanes), 16*(1+r.IntN(5))
		s, v := make([]float32, n*Lanes), make([]float32, n*pitch)
		fill(r, s, specials)
		fill(r, v, specials)
		var st State
		fill(r, st.Down[:], specials)
		got, want := newRoom(Lanes*pitch, off), newRoom(Lanes*pitch, off)
		fill(r, got.v, specials)
		copy(want.v, got.v)
		Values(got.v, s, v, pitch, n, rows, &st)
		before := append([]float32(nil), want.v...)
		goValues(want.v, s, v, pitch, n, rows, &st)
		got.check(t, "values")
		for i := range rows * pitch {
			size := float32(100 + math.Abs(float64(before[i]*st.Down[i/pitch])))
			for j := range n {
				size += float32(math.Abs(float64(s[j*Lanes+i/pitch] * v[j*pitch+i%pitch])))
			}
			if !near(got.v[i], want.v[i], size, float64(n)+2) {
				t.Fatalf("%d keys, %d rows of %d: element %d is %g, expected %g", n, rows, pitch, i, got.v[i], want.v[i])
			}
		}
	})
}

func TestPut(t *testing.T) {
	eachCase(t, func(t *testing.T, r *rand.Rand, off int, specials bool) {
		rows, cols := 1+r.IntN(Lanes), 1+r.IntN(70)
		pitch, stride := RoundUp(cols), 2*cols+2*r.IntN(5)
		o := make([]float32, rows*pitch+off)[off:]
		fill(r, o, specials)
		var factors [Lanes]float32
		fill(r, factors[:], specials)
		got, want := make([]byte, (rows-1)*stride+2*cols+50), make([]byte, (rows-1)*stride+2*cols+50)
		Put(got[:(rows-1)*stride+2*cols], stride, o, pitch, rows, cols, &factors)
		goPut(want, stride, o, pitch, rows, cols, &factors)
		for i := 0; i < len(got); i += 2 {
			g, w := half.Float(uint16(got[i])|uint16(got[i+1])<<8), half.Float(uint16(want[i])|uint16(want[i+1])<<8)
			if g != w && (g == g || w == w) {
				t.Fatalf("%d rows of %d: number %d is %g, expected %g", rows, cols, i/2, g, w)
			}
		}
	})
}

// Powers of all fp16 numbers up to 0 are within three units of fp32.
func TestAllPowers(t *testing.T) {
	forMachines(t, func(t *testing.T) {
		for h := 0; h <= 0x7c00; h += Lanes {
			var s [Lanes]float32
			for i := range s {
				s[i] = -half.Float(uint16(min(h+i, 0x7c00)))
			}
			x := s
			var st State
			st.Reset()
			for i := range st.Top {
				st.Top[i] = 0
			}
			Powers(s[:], 1, Lanes, 1, &st)
			for i, p := range s {
				if want := math.Exp2(float64(x[i])); math.Abs(float64(p)-want) > 3*0x1p-23*want+0x1p-126 {
					t.Fatalf("2^%g is %g, expected %g", x[i], p, want)
				}
			}
		}
	})
}
