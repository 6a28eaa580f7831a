//go:build unix

package depthwise

import (
	"encoding/binary"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/guard"
	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Nothing beside the rows is touched.
func TestGuard(t *testing.T) {
	m := guard.New(t)
	for name, shifts := range map[string][]int{
		"none": {}, "one": {0}, "far": {3, 0, 40}, "five": {0, 1, 2, 3, 4}, "grid": {0, 1, 2, 70, 71, 72, 140, 141, 142},
		"wide grid": {0, 2, 4, 70, 72, 74, 140, 142, 144}, "grid, back": {142, 141, 140, 72, 71, 70, 2, 1, 0}, "nine": {0, 1, 2, 3, 4, 5, 6, 7, 9},
	} {
		taps := NewTaps(shifts)
		for _, width := range guard.Sizes[1:] {
			for _, rows := range []int{1, 2, 3, 4, 5} {
				for _, more := range []int{0, 1, 6} {
					for _, greatest := range []bool{false, true} {
						plane := func() *Plane {
							p := Plane{
								Src: m.Floats((rows-1)*(width+more) + taps.far + width), Step: width + more, Weights: m.Floats(len(shifts)),
								Max: greatest, Rows: rows, Width: width, Bounds: Unbounded,
							}
							return &p
						}
						m.Check(func() {
							p := plane()
							taps.Floats(m.Floats((rows-1)*(width+more)+width), width+more, p)
						}, "taps %s: %d rows of %d floats, %d more, greatest %v", name, rows, width, more, greatest)
						m.Check(func() {
							p := plane()
							taps.Halves(m.Bytes(2*((rows-1)*(width+more)+width)), 2*(width+more), p)
						}, "taps %s: %d rows of %d numbers, %d more, greatest %v", name, rows, width, more, greatest)
					}
				}
			}
		}
	}
}

// Rows that do not fit are refused, to the byte. Such that do may be an odd number of
// bytes apart.
func TestGuardOddPitch(t *testing.T) {
	m := guard.New(t)
	taps := NewTaps([]int{0})
	const rows, width, pitch = 64, 16, 2*16 + 1
	const room = (rows-1)*pitch + 2*width
	run := func(size int) {
		p := Plane{Src: m.Floats(rows * width), Step: width, Weights: []float32{1}, Rows: rows, Width: width, Bias: NoBias, Bounds: Unbounded}
		dst := m.Bytes(size)
		taps.Halves(dst, pitch, &p)
		for i, v := range p.Src {
			if got := binary.LittleEndian.Uint16(dst[i/width*pitch+i%width*2:]); got != half.Bits(v) {
				t.Fatalf("number %d is %#x, want %#x", i, got, half.Bits(v))
			}
		}
	}
	m.Check(func() { run(room) }, "in %d bytes", room)
	for _, size := range []int{room - 1, 2 * rows * width, 0} {
		m.Refuses(func() { run(size) }, "in %d bytes", size)
	}
}
