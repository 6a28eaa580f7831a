package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Places are read for all shifts, with 0 up to the width of a panel, and nothing
// else is written.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	src := make([]float32, 4000)
	for i := range src {
		src[i] = float32(i)
	}
	for count := range 140 {
		places, at := make([]int64, count), int64(r.IntN(3))
		for i := range places {
			places[i] = at
			if at++; r.IntN([]int{2, 7, 20}[count%3]) == 0 {
				at += int64(r.IntN(9))
			}
		}
		shifts := make([]int, 1+r.IntN(12))
		for i := range shifts {
			shifts[i] = r.IntN(300)
		}
		width := []int{12, 16, 32, count + 1 + r.IntN(20)}[r.IntN(4)]
		apart := len(shifts)*width + r.IntN(3)
		panels := max(1, (count+width-1)/width)
		dst := make([]float32, panels*apart+20)
		for i := range dst {
			dst[i] = -1
		}
		want := slices.Clone(dst)
		for l := range panels * width {
			for k, shift := range shifts {
				v := float32(0)
				if l < count {
					v = src[int(places[l])+shift]
				}
				want[l/width*apart+k*width+l%width] = v
			}
		}
		var p Places
		p.Set(places)
		p.Read(dst, apart, width, src, shifts)
		if !slices.Equal(dst, want) {
			t.Fatalf("%d places in panels of %d, %d shifts: %v, expected %v", count, width, len(shifts), dst, want)
		}
	}
}
