package vec

import (
	"math/rand/v2"
	"testing"
)

// Taps add up in order, for any length, and write nothing else.
func TestTaps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 150 {
		taps := 1 + r.IntN(25)
		weights, shifts := make([]float32, taps), make([]int, taps)
		for i := range weights {
			weights[i], shifts[i] = float32(r.NormFloat64()), r.IntN(40)
		}
		src := make([]float32, n+40)
		for i := range src {
			src[i] = float32(r.NormFloat64())
		}
		dst := make([]float32, n+20)
		Taps(dst[:n], src, weights, shifts)
		for i, v := range dst {
			sum := float32(0)
			if i < n {
				for k, w := range weights {
					sum += float32(w * src[i+shifts[k]])
				}
			}
			if v != sum {
				t.Fatalf("element %d of %d, %d taps: %g, expected %g", i, n, taps, v, sum)
			}
		}
	}
}

// Places reads what it is told, and 0 up to the width of a row.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	src := make([]float32, 4000)
	for i := range src {
		src[i] = float32(i)
	}
	for count := range 70 {
		places, at := make([]int64, count), int64(0)
		for i := range places {
			places[i] = at
			if at++; r.IntN(20) == 0 {
				at += int64(r.IntN(9))
			}
		}
		shifts := make([]int, 1+r.IntN(12))
		for i := range shifts {
			shifts[i] = 37 * i
		}
		width := count + r.IntN(20)
		pitch := width + r.IntN(3)
		dst := make([]float32, len(shifts)*pitch+1)
		for i := range dst {
			dst[i] = -1
		}
		Places(dst, pitch, width, src, places, shifts)
		for i, v := range dst {
			k, l := i/max(pitch, 1), i%max(pitch, 1)
			want := float32(-1)
			switch {
			case k >= len(shifts) || l >= width:
			case l < count:
				want = src[int(places[l])+shifts[k]]
			default:
				want = 0
			}
			if v != want {
				t.Fatalf("%d places, row %d, element %d: %g, expected %g", count, k, l, v, want)
			}
		}
	}
}
