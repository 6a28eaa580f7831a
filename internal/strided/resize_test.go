package strided

import (
	"encoding/binary"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A picture that is enlarged by 2 has each element four times, for rows of any
// length.
func TestResizeDoubled(t *testing.T) {
	for _, width := range []int{1, 2, 3, 7, 8, 33, 255, 256, 257, 600} {
		op := &Op{Params: &td.Resize{Method: td.SampleNearest, Grid: td.GridDefault, Rounding: td.RoundFloor}, Operands: []Operand{
			dense(0, tensor.Float16, 1, 1, 3, 4, 2*width),
			dense(1, tensor.Float16, 1, 1, 3, 2, width),
		}}
		b := bindDense(t, op)
		if m, ok := b.kernel.(*relocationMove); !ok || width > 1 && !m.doubled {
			t.Fatalf("rows of %d: %T", width, b.kernel)
		}
		for i := range 6 * width {
			binary.LittleEndian.PutUint16(b.w.Memory[1][2*i:], uint16(i+1))
		}
		b.run()
		for i := range 24 * width {
			c, y, x := i/(8*width), i/(2*width)%4, i%(2*width)
			if got, want := binary.LittleEndian.Uint16(b.w.Memory[0][2*i:]), uint16(c*2*width+y/2*width+x/2+1); got != want {
				t.Fatalf("rows of %d: channel %d, place %d, %d is element %d, expected %d", width, c, y, x, got, want)
			}
		}
	}
}
