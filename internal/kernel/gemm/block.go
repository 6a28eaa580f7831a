package gemm

// A block is what the machine code of a row takes: panels, and where the sums go.
type block struct {
	a, b   *float32
	depth  int
	c      *float32
	stride int      // bytes
	to     *float32 // what the sums are added to: C, or zeros
	next   int      // bytes from a row of it to the next

	// With AVX2, which takes some panels of A:
	second int // bytes from one to the next
	count  int
}

// zeros are a row of them.
var zeros [32]float32

// put says where the sums go, and what they are added to.
func (b *block) put(t *Tile, at int) {
	b.c, b.to, b.next = &t.C[at], &t.C[at], b.stride
	if t.Fresh {
		b.to, b.next = &zeros[0], 0
	}
}
