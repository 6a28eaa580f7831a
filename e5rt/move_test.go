package e5rt

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// gapped is a layout of a shape with gaps behind some axes, in a random order in memory.
func gapped(r *rand.Rand, d tensor.DType, shape []int) Layout {
	l := Layout{Type: d, Shape: shape, Strides: make([]int, len(shape))}
	order := r.Perm(len(shape))
	if r.IntN(2) == 0 { // as chips have it
		for i := range order {
			order[i] = len(shape) - 1 - i
		}
	}
	stride := d.Size()
	for _, axis := range order {
		l.Strides[axis] = stride
		stride *= shape[axis]
		if r.IntN(3) == 0 {
			stride += r.IntN(4) * d.Size()
		}
	}
	l.Bytes = stride
	return l
}

// A move gives every element what tensor.Convert gives it, and leaves the gaps alone, whatever both layouts are.
func TestMove(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	types := []tensor.DType{tensor.Float16, tensor.Float32, tensor.Int8, tensor.Int32}
	shapes := [][2][]int{{{2, 3}, {2, 3}}, {{6}, {3, 2}}, {{4, 1, 3, 5}, {4, 3, 5}}, {{2, 2, 3, 2, 4}, {4, 24}}, {{}, {1}}, {{3, 700}, {3, 700}}, {{0, 2}, {0}}}
	for range 150 {
		pair := shapes[r.IntN(len(shapes))]
		from, to := gapped(r, types[r.IntN(len(types))], pair[0]), gapped(r, types[r.IntN(len(types))], pair[1])
		src, dst := make([]byte, from.Bytes), make([]byte, to.Bytes)
		for i := range src {
			src[i] = byte(r.IntN(100))
		}
		for i := range dst {
			dst[i] = 0xcc
		}
		x, err := from.tensor(src)
		if err != nil {
			t.Fatal(err)
		}
		converted, err := x.Convert(to.Type)
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Clone(dst)
		y, err := to.tensor(want)
		if err != nil {
			t.Fatal(err)
		}
		if converted, err = converted.Clone().Reshape(to.Shape...); err != nil {
			t.Fatal(err)
		}
		if err := y.CopyFrom(converted); err != nil {
			t.Fatal(err)
		}
		m := newMove(&to, &from)
		m.do(dst, src, 1)
		if !bytes.Equal(dst, want) {
			t.Fatalf("%v to %v: got % x, want % x", from, to, dst, want)
		}
		if n := testing.AllocsPerRun(1, func() { m.do(dst, src, 1) }); n != 0 {
			t.Errorf("%v to %v: %v allocations", from, to, n)
		}
		for i := range dst { // from any element to any
			dst[i] = 0xcc
		}
		for lo := 0; lo < m.elements; {
			hi := min(lo+1+r.IntN(9), m.elements)
			m.part(dst, src, lo, hi)
			lo = hi
		}
		if !bytes.Equal(dst, want) {
			t.Fatalf("%v to %v in parts: got % x, want % x", from, to, dst, want)
		}
	}
}

func BenchmarkMoveRows(b *testing.B) {
	for _, c := range []struct {
		name     string
		from, to Layout
	}{
		{"fp32 to fp16", DenseLayout(tensor.Float32, 64, 56, 56), Layout{tensor.Float16, []int{64, 56, 56}, []int{56 * 128, 128, 2}, 64 * 56 * 128}},
		{"fp16 to fp32", Layout{tensor.Float16, []int{64, 56, 56}, []int{56 * 128, 128, 2}, 64 * 56 * 128}, DenseLayout(tensor.Float32, 64, 56, 56)},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := newMove(&c.to, &c.from)
			src, dst := alignedBytes(c.from.Bytes), alignedBytes(c.to.Bytes)
			b.SetBytes(m.bytes())
			for b.Loop() {
				m.do(dst, src, 1)
			}
		})
	}
}
