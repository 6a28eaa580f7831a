package gemm

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Panels of floats: factor k of line l is word k*Lines + l.

// floatPanel is a panel of floats.
func floatPanel(lines int) Panel {
	return Panel{
		Lines: lines, KR: 1, Bytes: 4, Floats: true, Takes: []Elem{F32, F16, Placed},
		Pack: func(panels []float32, apart int, s *Source) bool {
			for l := 0; l < s.Lines; l += lines {
				packFloats(panels[l/lines*apart:], lines, s, l)
			}
			return true
		},
		Unpack: func(dst, panel []float32, line int) {
			for k := range dst {
				dst[k] = panel[k*lines+line]
			}
		},
		Squares: func(sums, panel []float32, depth int) { addSquares(sums[:lines], panel[:depth*lines]) },
	}
}

// packFloats makes a panel of the lines from one on.
func packFloats(panel []float32, lines int, s *Source, first int) {
	panel = panel[:s.Depth*lines]
	count := min(lines, s.Lines-first)
	if count < lines {
		clear(panel)
	}
	switch {
	case s.Elem == F16:
		for l := range count {
			line := s.Bytes[2*(first+l)*s.Line:]
			for k := range s.Depth {
				panel[k*lines+l] = half.Float(binary.LittleEndian.Uint16(line[2*k*s.Step:]))
			}
		}
	case s.Elem == Placed:
		for k, shift := range s.Shifts[:s.Depth] {
			to, from := panel[k*lines:][:lines], s.Floats[shift:]
			for l, p := range s.Places.At[first:][:count] {
				to[l] = from[p]
			}
		}
	case s.Line == 1: // side by side
		for k := range s.Depth {
			copy(panel[k*lines:], s.Floats[k*s.Step+first:][:count])
		}
	default:
		for l := range count {
			line := s.Floats[(first+l)*s.Line:]
			for k := range s.Depth {
				panel[k*lines+l] = line[k*s.Step]
			}
		}
	}
}

// addSquares adds those of a panel, in the order of the factors.
func addSquares(sums, panel []float32) {
	for ; len(panel) > 0; panel = panel[len(sums):] {
		for l, v := range panel[:len(sums)] {
			sums[l] += float32(v * v)
		}
	}
}

// float is factor k of a line.
func (s *Source) float(line, k int) float32 {
	switch at := line*s.Line + k*s.Step; s.Elem {
	case F16:
		return half.Float(binary.LittleEndian.Uint16(s.Bytes[2*at:]))
	case Placed:
		return s.Floats[int(s.Places.At[line])+s.Shifts[k]]
	default:
		return s.Floats[at]
	}
}
