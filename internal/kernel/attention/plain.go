package attention

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// A machine is the machine code of an instruction set.
type machine struct {
	name  string
	whole bool // it does everything, whatever is left of vectors

	// What it takes at a time: positions of powers, rows and columns of values. All
	// 0: there is none.
	positions, rows, cols int
}

// machines are those that this processor can run, the best last; use is the one that
// is used.
var (
	machines []machine
	use      machine
)

// some is how many rows of values are taken at a time from one on. Sixes do not make
// all lanes: the last ones are fours.
func (m *machine) some(r, rows int) int {
	if m.rows == 6 && (r+8 >= Lanes || r+4 >= rows) {
		return 4
	}
	return m.rows
}

func goRows(dst []float32, pitch int, src []byte, stride, rows, cols int) {
	for r := range rows {
		row := dst[r*pitch:][:pitch]
		half.Floats(row[:cols], src[r*stride:])
		clear(row[cols:])
	}
}

// goTurn turns the rows from one on, and clears the lanes after them.
func goTurn(dst, src []float32, pitch, first, rows int, scale float32) {
	for c := range pitch {
		column := dst[c*Lanes:][:Lanes]
		clear(column[first:])
		for r := first; r < rows; r++ {
			column[r] = src[r*pitch+c] * scale
		}
	}
}

func goScores(s, q, k []float32, pitch, features, n int, bias []float32, each bool) {
	for j := range n {
		var sums [Lanes]float32
		for f, x := range k[j*pitch:][:features] {
			for i, y := range q[f*Lanes:][:Lanes] {
				sums[i] += float32(x * y)
			}
		}
		for i := range sums {
			switch {
			case each:
				sums[i] += s[j*Lanes+i]
			case bias != nil:
				sums[i] += bias[j]
			}
		}
		copy(s[j*Lanes:], sums[:])
	}
}

func goPowers(s []float32, n int, st *State) {
	for i := range Lanes {
		top := st.Top[i]
		for j := range n {
			top = max(top, s[j*Lanes+i])
		}
		from := top
		if math.IsInf(float64(top), -1) {
			from = 0
		}
		down := power(st.Top[i] - from)
		var sum float32
		for j := range n {
			p := power(s[j*Lanes+i] - from)
			s[j*Lanes+i] = p
			sum += p
		}
		st.Top[i], st.Total[i], st.Down[i] = top, float32(st.Total[i]*down)+sum, down
	}
}

// power is 2 to the x.
func power(x float32) float32 { return float32(math.Exp2(float64(x))) }

func goValues(o, s, v []float32, pitch, n, rows int, st *State) {
	for r := range rows {
		row := o[r*pitch:][:pitch]
		for c := range row {
			var sum float32
			for j := range n {
				sum += float32(s[j*Lanes+r] * v[j*pitch+c])
			}
			row[c] = float32(row[c]*st.Down[r]) + sum
		}
	}
}

func goPut(dst []byte, stride int, o []float32, pitch, rows, cols int, factors *[Lanes]float32) {
	for r := range rows {
		for c, x := range o[r*pitch:][:cols] {
			binary.LittleEndian.PutUint16(dst[r*stride+2*c:], half.Bits(x*factors[r]))
		}
	}
}
