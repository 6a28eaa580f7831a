package half

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// edges are floats at every fp16 number, halfway to the next and next to that, at
// every power of two, and random ones.
func edges() (list []float32) {
	around := func(b uint32) {
		for _, d := range []uint32{0, 1, 2, 3, 0xfff, 0x1000, 0x1001} {
			list = append(list, math.Float32frombits(b+d), math.Float32frombits(b-d))
		}
	}
	for h := range 1 << 16 {
		v := Float(uint16(h))
		around(math.Float32bits(v))
		if a, next := float64(v), float64(Float(uint16(h)+1)); !math.IsNaN(a + next) {
			around(math.Float32bits(float32((a + next) / 2)))
		}
	}
	for e := range uint32(1 << 9) {
		around(e << 23)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 16 {
		list = append(list, math.Float32frombits(r.Uint32()))
	}
	return list
}

// What converts many numbers does what the plain form does to each.
func TestSlices(t *testing.T) {
	values := edges()
	bytes, floats := make([]byte, 2*len(values)), make([]float32, len(values))
	Put(bytes, values)
	away := make([]float32, len(values))
	copy(away, values)
	RoundAllAway(away)
	for i, v := range values {
		if got, want := math.Float32bits(away[i]), math.Float32bits(RoundAway(v)); got != want {
			t.Fatalf("%g (%#x) is rounded to %#x, expected %#x", v, math.Float32bits(v), got, want)
		}
	}
	copy(floats, values)
	RoundAll(floats)
	for i, v := range values {
		if got := binary.LittleEndian.Uint16(bytes[2*i:]); got != Bits(v) {
			t.Fatalf("%g (%#x) is put as %#x, expected %#x", v, math.Float32bits(v), got, Bits(v))
		}
		if got, want := math.Float32bits(floats[i]), math.Float32bits(Round(v)); got != want {
			t.Fatalf("%g (%#x) is rounded to %#x, expected %#x", v, math.Float32bits(v), got, want)
		}
	}
	all := make([]byte, 2<<16)
	for h := range 1 << 16 {
		binary.LittleEndian.PutUint16(all[2*h:], uint16(h))
	}
	floats = floats[:1<<16]
	Floats(floats, all)
	for h, f := range floats {
		if math.Float32bits(f) != math.Float32bits(Float(uint16(h))) {
			t.Fatalf("%#x is %#x, expected %#x", h, math.Float32bits(f), math.Float32bits(Float(uint16(h))))
		}
	}
}

// They touch what they are given and nothing beside it, whatever its length and
// place.
func TestSlicesStayInside(t *testing.T) {
	for n := range 131 {
		for off := range 3 {
			t.Run(fmt.Sprint(n, "+", off), func(t *testing.T) {
				floats, bytes := make([]float32, n+off+40), make([]byte, 2*(n+off+40))
				for i := range floats {
					floats[i] = float32(i) + 0.5
				}
				for i := range bytes {
					bytes[i] = 0x55
				}
				Put(bytes[2*off:][:2*n], floats[off:][:n])
				for i := range floats {
					want := uint16(0x5555)
					if i >= off && i < off+n {
						want = Bits(floats[i])
					}
					if got := binary.LittleEndian.Uint16(bytes[2*i:]); got != want {
						t.Fatalf("number %d is %#x, expected %#x", i, got, want)
					}
				}
				Floats(floats[off:][:n], bytes[2*off:][:2*n])
				for i, f := range floats {
					if want := float32(i) + 0.5; f != want {
						t.Fatalf("number %d is %g, expected %g", i, f, want)
					}
				}
				for i := range floats {
					floats[i] += 0x1p-20
				}
				before := append([]float32(nil), floats...)
				RoundAll(floats[off:][:n])
				for i, f := range floats {
					want := before[i]
					if i >= off && i < off+n {
						want = Round(want)
					}
					if f != want {
						t.Fatalf("number %d is rounded to %g, expected %g", i, f, want)
					}
				}
			})
		}
	}
}
