package kernel

import (
	"math"
	"testing"
)

// Bytes are written rounded, and held to their range: as bools, which are 0 and 1, they come back.
func TestScatterBytes(t *testing.T) {
	inf := float32(math.Inf(1))
	values := []float32{0, 1, 0.4, 0.6, 1.5, 2.5, -1, 255, 256, inf, -inf, float32(math.NaN())}
	want := []byte{0, 1, 0, 1, 2, 2, 0, 255, 255, 255, 0, 0}
	v := View{Offset: 3, Dims: [Axes]int{1, 2, 1, 2, 3}, Strides: [Axes]int{0, 16, 0, 8, 1}, Bytes: true}
	dst := make([]byte, 40)
	Scatter(dst, &v, values, Rounding{}, 0, 4)
	for i, w := range want {
		at := v.Row(0, i/6, 0, i/3%2) + i%3
		if dst[at] != w {
			t.Errorf("%v is written as %d, want %d", values[i], dst[at], w)
		}
	}
	back := make([]float32, len(values))
	Gather(back, dst, &v, Reading{}, 0, 4)
	for i, w := range want {
		if back[i] != float32(w) {
			t.Errorf("byte %d is read as %v", w, back[i])
		}
	}
}
