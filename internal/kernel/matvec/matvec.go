// Package matvec has the micro-kernels of products of a few rows with a matrix of
// fp16 numbers, of which each is used but once, so that reading it takes all the time.
//
// A line is a column of the matrix: the factors that make one element of each row of
// the result. Lines lie one after the other, or side by side, or in panels of some
// that lie side by side, one panel after the other:
//
//	dots    0 0 0 0 …      strips  0 1 2 3 …      panels  0 1
//	        1 1 1 1 …              0 1 2 3 …              0 1 …
//	        2 2 2 2 …              0 1 2 3 …              2 3
//	                                                      2 3 …
//
// Dots and strips are for a matrix as it lies in a file. Panels are made of it; they
// are read from the first byte to the last, and nothing has to be turned.
//
// The products of a line are added up in their order, each product and each sum
// rounded, or fused. That is what a row of package gemm does that is Exact or Fused:
// an element has the same bits from either, so that nobody can tell whether a row was
// computed alone or among many. Whoever multiplies cuts long sums as that row does.
//
// The package knows nothing of operands, strides in memory or threads.
package matvec

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// A Row is a micro-kernel.
type Row struct {
	Name  string
	Needs isa.Set // of the processor

	// Fused: a product is added without being rounded before. Terms bounds the
	// error of a sum as that of a gemm.Row: one unit for each product.
	Fused bool

	// Side is how many lines lie side by side in a panel, a power of two; 0: there is
	// no machine code for panels.
	Side int

	// dots, strips and panels go on with the sums of a product.
	dots, strips, panels func(*Product)

	Doc string
}

// MaxRows is how many rows are taken at once.
const MaxRows = 4

// RoundUp is how many rows a product is made of that needs so many: 1, 2 or 4.
func RoundUp(rows int) int {
	if rows == 3 {
		return 4
	}
	return rows
}

// A Product is a part of a product: S += X·W, product after product.
type Product struct {
	W     []byte // fp16 numbers, little endian
	Apart int    // bytes from a line to the next; of strips, from a factor to the next; of panels, from one to the next
	Lines int
	Depth int

	X    []float32 // factor by factor, each of all rows
	Rows int       // 1, 2 or 4

	S      []float32 // sums, row by row
	Stride int       // from a row of them to the next

	Stage *Stage
}

// A Stage is room for lines and factors that are too few for the machine code.
type Stage struct {
	bytes [stageBytes]byte
	sums  [MaxRows * 32]float32
	x     [MaxRows * 8]float32
	chain chain
}

// A chain is what machine code takes: of lines, factors, those of the rows, and
// sums to go on with.
type chain struct {
	w     *byte
	apart int
	count int // of dots the factors, of strips the lines
	x     *float32
	s     *float32
	ahead int // of dots: how far beyond the lines memory is asked for; of strips: bytes from a factor of x to the next
}

const stageBytes = 32 * 256 * 2

var rows = append([]*Row{&plain}, machineRows...)

// Rows lists the rows, also those that this processor cannot run.
func Rows() []*Row { return slices.Clone(rows) }

// Usable lists the rows that may be run.
func Usable() []*Row {
	have := isa.Have()
	return slices.DeleteFunc(Rows(), func(r *Row) bool { return !have.Has(r.Needs) })
}

var usable = Usable()

// For is the best row whose products are fused, or not; nil if there is none.
func For(fused bool) *Row {
	for _, r := range slices.Backward(usable) {
		if r.Fused == fused {
			return r
		}
	}
	return nil
}

// Dots goes on with the sums of lines that lie one after the other.
func (r *Row) Dots(p *Product) {
	if p.check((p.Lines-1)*p.Apart + 2*p.Depth) {
		r.dots(p)
	}
}

// Strips goes on with the sums of lines that lie side by side.
func (r *Row) Strips(p *Product) {
	if p.check((p.Depth-1)*p.Apart + 2*p.Lines) {
		r.strips(p)
	}
}

// Panels goes on with the sums of lines that lie in panels. The last one is whole, be
// there lines or not.
func (r *Row) Panels(p *Product) {
	if p.check((p.Lines-1)/r.Side*p.Apart + 2*r.Side*p.Depth) {
		r.panels(p)
	}
}

// check reports whether there is something to do. Machine code reads no more than
// what it looks at.
func (p *Product) check(bytes int) bool {
	if p.Lines <= 0 || p.Depth <= 0 || p.Rows <= 0 {
		return false
	}
	if p.Rows > MaxRows || p.Rows != RoundUp(p.Rows) || p.Apart < 0 {
		panic("bug: a product that is none of a few rows")
	}
	_, _, _ = p.W[bytes-1], p.X[p.Rows*p.Depth-1], p.S[(p.Rows-1)*p.Stride+p.Lines-1]
	return true
}
