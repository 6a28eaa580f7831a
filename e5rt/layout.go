package e5rt

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// A Layout is how the elements of a value lie in memory. Chips want rows on
// multiples of 64 bytes:
//
//	[2, 3] fp16   dense         strides 6 2     a b c d e f
//	              on a chip     strides 64 2    a b c . . .
//	                                            d e f . . .
type Layout struct {
	Type    tensor.DType // Invalid: a value of the host, without a layout
	Shape   []int
	Strides []int // bytes between neighbours on each axis
	Bytes   int   // how much memory it takes, with the gap behind the last row
}

// DenseLayout is the layout of elements side by side.
func DenseLayout(d tensor.DType, shape ...int) Layout {
	l := Layout{Type: d, Shape: slices.Clone(shape), Strides: make([]int, len(shape))}
	stride := d.Size()
	for i := len(shape) - 1; i >= 0; i-- {
		l.Strides[i] = stride
		stride *= max(shape[i], 1)
	}
	n, _ := tensor.Count(shape)
	l.Bytes, _ = d.ByteLen(n)
	return l
}

// Dense reports whether elements lie side by side, with nothing behind them.
func (l Layout) Dense() bool { return l.Same(DenseLayout(l.Type, l.Shape...)) }

// Same reports whether element k of both, counted through all axes, is of one type
// and lies at the same byte, for every k, in as much memory.
func (l Layout) Same(m Layout) bool {
	return l.Type == m.Type && l.Bytes == m.Bytes && count(l.Shape) == count(m.Shape) &&
		slices.Equal(loopsOf(l.Shape, l.Strides), loopsOf(m.Shape, m.Strides))
}

func (l Layout) String() string {
	switch {
	case l.Type == tensor.Invalid:
		return "a value of the host"
	case l.Dense():
		return l.Type.String() + tensor.ShapeOf(l.Shape...).String()
	}
	return fmt.Sprintf("%v%v with strides %v in %d bytes", l.Type, tensor.ShapeOf(l.Shape...), l.Strides, l.Bytes)
}

// extent is how many bytes there are up to the end of the last element.
func (l *Layout) extent() int {
	if count(l.Shape) == 0 || l.Type.Size() == 0 {
		n, _ := l.Type.ByteLen(count(l.Shape))
		return n
	}
	end := l.Type.Size()
	for i, n := range l.Shape {
		end += (n - 1) * l.Strides[i]
	}
	return end
}

// shared reports whether elements may lie on each other: along some axis the next one
// comes before the end of those along shorter strides.
func (l *Layout) shared() bool {
	loops := loopsOf(l.Shape, l.Strides)
	slices.SortFunc(loops, func(a, b loop) int { return a.stride - b.stride })
	end := l.Type.Size()
	for _, axis := range loops {
		if axis.stride < end {
			return true
		}
		end += (axis.n - 1) * axis.stride
	}
	return false
}

// tensor is the memory of a value as an array.
func (l *Layout) tensor(memory []byte) (*tensor.Tensor, error) {
	if l.Type.Size() == 0 { // of less than a byte: they lie side by side
		return tensor.FromBytes(l.Type, l.Shape, memory)
	}
	return tensor.Strided(l.Type, l.Shape, l.Strides, memory)
}

// layoutOf is the layout of an array, and its memory from the first element on.
func layoutOf(t *tensor.Tensor) (Layout, []byte) {
	size := t.DType().Size()
	l := Layout{Type: t.DType(), Shape: t.Shape(), Strides: make([]int, t.Rank())}
	for i, s := range t.Strides() {
		l.Strides[i] = s * size
	}
	memory := t.From()
	l.Bytes = len(memory)
	return l, memory
}

func count(shape []int) int {
	n, _ := tensor.Count(shape)
	return n
}

// A loop is an axis as memory knows it.
type loop struct{ n, stride int } // stride in bytes

// loopsOf are the axes of a layout, outermost first, without those of one element;
// axes of which one goes on where the other ends are one:
//
//	[4, 2, 3] strides 128 64 2   8 × 64, 3 × 2
//	[2, 3] strides 6 2           6 × 2
func loopsOf(shape, strides []int) []loop {
	var loops []loop
	if count(shape) == 0 {
		return nil
	}
	for i, n := range shape {
		l := loop{n, strides[i]}
		if n == 1 {
			continue
		}
		if k := len(loops) - 1; k >= 0 && loops[k].stride == l.n*l.stride {
			l.n *= loops[k].n
			loops = loops[:k]
		}
		loops = append(loops, l)
	}
	return loops
}
