// Package gemm has the micro-kernels of products of matrices, as rows of a table.
//
// A row multiplies panels. A line is a row of the left matrix, A, or a column of
// the right one, B; a panel is a few lines in the order in which the row reads
// them. Of four lines of floats:
//
//	lines        panel
//	0 1 2 3 …    0 a p x
//	a b c d …    1 b q y
//	p q r s …    2 c r z
//	x y z … …    …
//
// Whoever multiplies asks the row for all that follows from it: how many lines a
// panel has and how many words it takes, how deep a block of sums is, how much
// room a tile needs. The first row is portable and the plainest; another may want
// other elements in its panels, other shapes for A and B, or sums in another
// order. One test holds all of them to the plain definition.
//
// A sum of more than Depth products is computed in blocks: the products of a
// block are added up, then added to the tile. So the order of a sum depends on
// the row and on its length, not on the tile, nor on what lies beside it.
//
// The package knows nothing of operands, strides in memory or threads.
package gemm

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/kernel/decode"
	"github.com/espalier-ane/espalier/internal/kernel/isa"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// A Row is a micro-kernel.
type Row struct {
	Name  string
	Needs isa.Set // of the processor

	// The block that the row computes at once: A.Lines rows, B.Lines columns,
	// and A.KR, which is B.KR, factors.
	A, B Panel

	// Depth is how many products are added up before the sum goes to the tile,
	// a multiple of KR.
	Depth int

	// Exact: the products of a block are added up one after the other, from 0
	// on, each product and each sum rounded to fp32. Otherwise a sum is as near
	// to the exact one as Bound says.
	Exact bool
	// Fused: likewise, but a product is added without being rounded before.
	Fused bool
	// Terms bounds the error of a block, in units of 2^-24 of the sum of the
	// magnitudes of its products.
	Terms float64

	// Masked: Run writes nothing outside the rows and columns of a tile.
	// Otherwise it writes whole blocks, for which the tile has room.
	Masked bool

	Run func(*Tile)

	// Sets: Run sets the sums of a fresh tile, of which the content does not matter.
	// Otherwise it adds them to what is there, always.
	Sets bool

	// Else is the row for lines with factors that the panels of this one cannot
	// hold; nil if they hold all floats.
	Else *Row

	Doc string
}

// A Panel is how a row wants the lines of one side.
//
// Memory for panels is made of words of 32 bits, whatever the elements are. A
// panel is a run of groups, each of KR factors of all lines; the last group, and
// lines that are not there, are filled up with 0.
type Panel struct {
	Lines int
	KR    int
	Bytes int // of a factor

	Floats bool // the factors are there as floats, and nothing else is

	// Takes are the sources that Pack reads. All take F32.
	Takes []Elem

	// Pack makes panels, so many words apart, or parts of them from some group
	// on. It reports whether they hold all factors; if not, they have in the place of
	// finite ones what is nearest, within 2^-17 of them. Other lines are as they
	// should be.
	Pack func(panels []float32, apart int, s *Source) bool

	// Holds reports whether panels hold a factor; nil: all.
	Holds func(x float32) bool

	// Unpack reads the first factors of a line.
	Unpack func(dst, panel []float32, line int)

	// Squares adds to a number for each line the squares of its first factors,
	// as many as the depth says.
	Squares func(sums, panel []float32, depth int)
}

// Reads reports whether Pack reads such a source.
func (p *Panel) Reads(e Elem) bool { return slices.Contains(p.Takes, e) }

// Unheld marks the lines of a source that have a factor that panels do not hold. It
// is slow: for after Pack has said that there are some.
func (p *Panel) Unheld(s *Source, mark func(line int)) {
	for l := range s.Lines {
		for k := range s.Depth {
			if !p.Holds(s.float(l, k)) {
				mark(l)
				break
			}
		}
	}
}

// Words is the size of a panel of so many factors, or of a part of one.
func (p *Panel) Words(depth int) int { return p.Lines * roundUp(depth, p.KR) * p.Bytes / 4 }

// Panels is how many panels so many lines take.
func (p *Panel) Panels(lines int) int { return (lines + p.Lines - 1) / p.Lines }

// RoundUp is what lines come to in whole panels.
func (p *Panel) RoundUp(lines int) int { return roundUp(lines, p.Lines) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Elem is how the elements of a source are stored.
type Elem uint8

// The ways to store elements.
const (
	F32    Elem = iota // floats
	F16                // fp16 numbers, little endian
	Placed             // floats, at places; for panels with a KR of 1
	Scaled             // codes of 8 bits, lines of which each has a scale, all of finite numbers
	Looked             // codes of a palette; lines begin with a byte, and have whole groups of 32
)

// A Source is factors as they lie. Factor k of line l is element l*Line + k*Step;
// of Placed ones Places.At[l] + Shifts[k].
type Source struct {
	Elem         Elem
	Floats       []float32
	Bytes        []byte // F16, Looked
	Line, Step   int    // in elements
	Places       *vec.Places
	Shifts       []int
	Palette      *Palette
	Codes        *decode.Lines8 // Scaled: all but where to
	Lines, Depth int
}

// A Tile is a part of a product, over one block of depth: C += A·B, or C = A·B of a
// fresh one. C has room for whole blocks, unless the row is masked.
type Tile struct {
	A, B         []float32 // panels
	DistA, DistB int       // words from one to the next
	Depth        int
	Rows, Cols   int
	C            []float32
	Stride       int // floats from a row of C to the next
	Fresh        bool

	// Ahead is memory that will be read next: a row for which it would come too late
	// asks for it meanwhile.
	Ahead []byte
}

// check panics if panels of so many lines, or whole blocks of C, lie outside of their
// memory: machine code does not look.
func (t *Tile) check(linesA, linesB, depth int) {
	if min(t.DistA, t.DistB, t.Stride, t.Rows, t.Cols, depth) < 0 {
		panic("bug: panels and tiles go forward")
	}
	rows, cols := roundUp(t.Rows, linesA), roundUp(t.Cols, linesB)
	_ = t.A[(rows/linesA-1)*t.DistA+linesA*depth-1]
	_ = t.B[(cols/linesB-1)*t.DistB+linesB*depth-1]
	_ = t.C[(rows-1)*t.Stride+cols-1]
}

// Room is the number of floats of a tile, and how far its rows are apart.
func (r *Row) Room(rows, cols int) (floats, stride int) {
	if !r.Masked {
		rows, cols = r.A.RoundUp(rows), r.B.RoundUp(cols)
	}
	return rows * cols, cols
}

// Bound is how far a sum of n products may be from the exact one, in units of
// 2^-24 of the sum of the magnitudes: each block, and one addition for each.
func (r *Row) Bound(n int) float64 { return r.Terms + float64((n+r.Depth-1)/r.Depth) }

// The portable rows come first, the plainest of all before them; then those of
// each instruction set, the best last.
var rows = slices.Concat([]*Row{&go4x4, &go6x16}, machineRows)

// Rows lists the rows, also those that this processor cannot run.
func Rows() []*Row { return slices.Clone(rows) }

// Usable lists the rows that may be run.
func Usable() []*Row {
	have := isa.Have()
	return slices.DeleteFunc(Rows(), func(r *Row) bool { return !have.Has(r.Needs) })
}

// For chooses the row for products: sums of n, in so many rows and columns. It is
// the last usable one whose blocks would not be mostly empty; where there is no
// machine code, the first.
func For(rows, cols, n int) *Row {
	for i := len(usable) - 1; i > 0; i-- {
		r := usable[i]
		if r.Needs != 0 && (i == least || r.A.fills(rows) && r.B.fills(cols) && n >= r.A.KR) {
			return r
		}
	}
	return usable[0]
}

// ForFloats is the row itself, or the one that it leaves factors to which its panels
// cannot hold: for products of which it is known beforehand.
func (r *Row) ForFloats() *Row {
	for r.Else != nil {
		r = r.Else
	}
	return r
}

// fills reports whether so many lines fill more than half of their panels.
func (p *Panel) fills(lines int) bool { return 2*lines > p.RoundUp(lines) }

// usable are the rows that For chooses from.
var usable = Usable()

// least is the usable row for the smallest products: the first with machine code.
var least = slices.IndexFunc(usable, func(r *Row) bool { return r.Needs != 0 })

// Named returns the usable row with a name, nil if there is none.
func Named(name string) *Row {
	for _, r := range Usable() {
		if r.Name == name {
			return r
		}
	}
	return nil
}
