package vec

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// A Finish is the end of a tile of sums, in one pass over it:
//
//	out = fp16(min(max(tile + bias + other, lo), hi))
//
// Each sum is rounded to fp32. Without bounds, lo and hi are the infinities.
type Finish struct {
	Tile       []float32
	Stride     int // floats from a row to the next
	Rows, Cols int
	Bias       []float32 // of each row; nil: none
	Other      []byte    // fp16 numbers; nil: none
	OtherApart int       // bytes from a row to the next; 0: all rows meet the same
	Out        []byte    // fp16 numbers
	OutApart   int       // bytes
	Lo, Hi     float32
}

// Bounds are those of a tile that has none.
func (f *Finish) Bounds() { f.Lo, f.Hi = float32(math.Inf(-1)), float32(math.Inf(1)) }

// finishLeast is how many columns a tile to which something is added must have for
// machine code.
var finishLeast int

// A finishing is what the machine code is told.
type finishing struct {
	tile     *float32
	stride   int // bytes
	rows     int
	cols     int
	bias     *float32
	next     int // bytes from a bias to the next
	other    *byte
	apart    int
	out      *byte
	outApart int
	lo, hi   float32
	zero     float32 // what makes 0 of -0, if the lower bound is 0
}

var none = float32(math.Copysign(0, -1)) // what changes no sum

// Run finishes the tile, of at most 1<<16 elements: machine code cannot be
// preempted.
//
//go:noinline
func (f *Finish) Run() {
	if f.Rows == 0 || f.Cols == 0 {
		return
	}
	if min(f.Stride, f.OtherApart, f.OutApart, f.Rows, f.Cols) < 0 {
		panic("bug: rows go forward")
	}
	if !fast || f.Other != nil && f.Cols < finishLeast || f.Lo != f.Lo || f.Hi != f.Hi || f.Lo == 0 && math.Signbit(float64(f.Lo)) || f.Hi == 0 { // bounds that would show
		f.plain()
		return
	}
	last := f.Rows - 1
	_, _ = f.Tile[last*f.Stride+f.Cols-1], f.Out[last*f.OutApart+2*f.Cols-1]
	p := finishing{
		tile: &f.Tile[0], stride: 4 * f.Stride, rows: f.Rows, cols: f.Cols, bias: &none,
		out: &f.Out[0], outApart: f.OutApart, lo: f.Lo, hi: f.Hi, zero: none,
	}
	if f.Lo == 0 {
		p.zero = 0
	}
	if f.Bias != nil {
		_ = f.Bias[last]
		p.bias, p.next = &f.Bias[0], 4
	}
	if f.Other != nil {
		_ = f.Other[last*f.OtherApart+2*f.Cols-1]
		p.other, p.apart = &f.Other[0], f.OtherApart
	}
	callFinish(&p)
}

func (f *Finish) plain() {
	for r := range f.Rows {
		row := f.Tile[r*f.Stride:][:f.Cols]
		var bias float32 = none
		if f.Bias != nil {
			bias = f.Bias[r]
		}
		out := f.Out[r*f.OutApart:]
		for c, v := range row {
			v += bias
			if f.Other != nil {
				v += half.Float(binary.LittleEndian.Uint16(f.Other[r*f.OtherApart+2*c:]))
			}
			binary.LittleEndian.PutUint16(out[2*c:], half.Bits(min(max(v, f.Lo), f.Hi)))
		}
	}
}
