package strided

import (
	"fmt"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/tensor"
)

// Attention by tiles is attention: whatever the sizes, masks and special numbers.
func TestAttentionByTiles(t *testing.T) {
	operand := func(base int, dims ...int) Operand { return dense(base, tensor.Float16, dims...) }
	if !tilesAttention(attentionOf(operand, 1, 64, 64, 64)) {
		t.Skip("there are no tiles here")
	}
	for _, size := range [][4]int{{2, 64, 64, 64}, {1, 50, 300, 40}, {1, 600, 33, 96}, {3, 33, 517, 33}} {
		heads, positions, keys, width := size[0], size[1], size[2], size[3]
		for _, mask := range []string{"", "each", "one", "bool"} {
			for _, special := range []struct {
				operand int
				number  uint16
			}{{1, 0x3c00}, {1, 0x7c00}, {1, 0x7e00}, {2, 0x7c00}, {2, 0xfc00}, {2, 0x7e00}, {3, 0x7c00}, {3, 0x7e00}, {3, 1}, {2, 0x7bff}} {
				op := attentionOf(operand, heads, positions, keys, width)
				switch mask {
				case "each":
					op.Operands = append(op.Operands, operand(4, 1, 1, heads, positions, keys))
				case "one":
					o := operand(4, 1, 1, 1, 1, keys)
					for axis := range axisW {
						o.Strides[axis] = 0
					}
					o.Dims = [5]int{1, 1, heads, positions, keys}
					op.Operands = append(op.Operands, o)
				case "bool":
					op.Operands = append(op.Operands, dense(4, tensor.Bool, 1, 1, heads, positions, keys))
				}
				tiles := bindDense(t, op)
				if _, is := tiles.kernel.(*attentionTiles); !is {
					t.Fatalf("%v: not by tiles", size)
				}
				if mask == "bool" {
					for i := range tiles.w.Memory[4] {
						tiles.w.Memory[4][i] = byte(i % 3 & 1)
					}
				}
				numbers := tiles.w.Memory[special.operand]
				for _, at := range []int{7, len(numbers)/2 + 31} {
					numbers[at&^1], numbers[at|1] = byte(special.number), byte(special.number>>8)
				}
				tiles.run()
				got := halvesOf(tiles.w.Memory[0])

				k, err := bindAttentionBlocks(op)
				if err != nil {
					t.Fatal(err)
				}
				blocks := bound{kernel: k, tiles: tiles.tiles, w: NewScratch(k.Need())}
				blocks.w.Memory = tiles.w.Memory
				blocks.tiles, _ = k.Tiles()
				clear(blocks.w.Memory[0])
				blocks.run()
				what := fmt.Sprintf("%v, mask %q, %#x in operand %d", size, mask, special.number, special.operand)
				for i, want := range halvesOf(blocks.w.Memory[0]) {
					if nan := want != want; nan != (got[i] != got[i]) || !nan && got[i] != want && !(math.Abs(float64(got[i]-want)) <= 0x1p-10*math.Abs(float64(want))+0x1p-11) {
						t.Fatalf("%s: element %d is %g, expected %g", what, i, got[i], want)
					}
				}
			}
		}
	}
}

// Keys and values that were packed are not used again by a run after that, which may
// find others there.
func TestAttentionByTilesAgain(t *testing.T) {
	op := attentionOf(func(base int, dims ...int) Operand { return dense(base, tensor.Float16, dims...) }, 1, 64, 64, 64)
	if !tilesAttention(op) {
		t.Skip("there are no tiles here")
	}
	for _, changed := range []int{2, 3} {
		b := bindDense(t, op)
		b.run()
		before := string(b.w.Memory[0])
		clear(b.w.Memory[changed])
		b.run()
		again := string(b.w.Memory[0])
		w := NewScratch(b.kernel.Need())
		w.Memory = b.w.Memory
		b.w = w
		b.run()
		if again == before || again != string(w.Memory[0]) {
			t.Errorf("operand %d has changed, and results are not those of what is there", changed)
		}
	}
}

func halvesOf(b []byte) []float32 {
	floats := make([]float32, len(b)/2)
	half.Floats(floats, b)
	return floats
}
