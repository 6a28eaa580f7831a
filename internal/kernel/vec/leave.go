package vec

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// A Leave is what a chip does to a tile of sums as they leave, in one pass over it: the
// limits, a scale, ReLU or not, and rounding to fp16 numbers.
type Leave struct {
	Limits
	Scale      float32
	ReLU       bool
	Tile       []float32
	Stride     int // floats from a row to the next
	Rows, Cols int
	Out        []byte // fp16 numbers
	OutApart   int    // bytes
}

// A leaving is what the machine code is told.
type leaving struct {
	tile     *float32
	stride   int // bytes
	rows     int
	cols     int
	out      *byte
	outApart int
	limits   *Limits
	lo, zero float32 // of ReLU: what is less becomes lo; what makes 0 of -0
	scale    float32
}

// Run does it, of at most 1<<16 elements: machine code cannot be preempted. It may change
// the tile.
//
//go:noinline
func (f *Leave) Run() {
	if f.Rows == 0 || f.Cols == 0 {
		return
	}
	if min(f.Stride, f.OutApart, f.Rows, f.Cols) < 0 {
		panic("bug: rows go forward")
	}
	last := f.Rows - 1
	_, _ = f.Tile[last*f.Stride+f.Cols-1], f.Out[last*f.OutApart+2*f.Cols-1]
	if !fast {
		f.plain()
		return
	}
	p := leaving{
		tile: &f.Tile[0], stride: 4 * f.Stride, rows: f.Rows, cols: f.Cols, out: &f.Out[0], outApart: f.OutApart,
		limits: &f.Limits, scale: f.Scale, lo: float32(math.Inf(-1)), zero: none,
	}
	if f.ReLU {
		p.lo, p.zero = 0, 0
	}
	callLeave(&p)
}

func (f *Leave) plain() {
	for r := range f.Rows {
		row := f.Tile[r*f.Stride:][:f.Cols]
		f.Limits.Apply(row)
		for i := range row {
			row[i] *= f.Scale
		}
		if f.ReLU {
			ReLU(row)
		}
		half.Put(f.Out[r*f.OutApart:], row)
	}
}
