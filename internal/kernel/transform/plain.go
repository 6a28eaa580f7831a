package transform

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// The portable rows.
var (
	go2 = plainRow("go-2x2", form2, forward2, inverse2)
	go4 = plainRow("go-4x4", form4, forward4, inverse4)
)

// plainRow is a form by its transforms of one line.
func plainRow(name string, f Form, forward, inverse func(v *line)) Row {
	return Row{
		Name: name, Form: f, Lanes: 1, Doc: "plain Go, a tile at a time",
		across: func(a *Across) { f.across(a, forward) },
		down:   func(d *Down) { f.down(d, forward) },
		back:   func(b *Back) { f.back(b, inverse) },
	}
}

// A line is what a tile has along one axis, at most 6 numbers.
type line [6]float32

func forward2(v *line) {
	*v = line{v[0] - v[2], v[1] + v[2], v[2] - v[1], v[1] - v[3]}
}

func inverse2(v *line) {
	*v = line{v[0] + v[1] + v[2], v[1] - v[2] - v[3]}
}

func forward4(v *line) {
	f := &factors4
	even, odd := v[4]-f[fQQ]*v[2], v[3]-f[fQQ]*v[1]
	even2, odd2 := v[4]-f[fPP]*v[2], v[3]-f[fPP]*v[1]
	*v = line{
		f[fProduct]*v[0] + v[4] - f[fSum]*v[2],
		even + f[fP]*odd, even - f[fP]*odd,
		even2 + f[fQ]*odd2, even2 - f[fQ]*odd2,
		f[fProduct]*v[1] + v[5] - f[fSum]*v[3],
	}
}

func inverse4(v *line) {
	f := &factors4
	even, odd := v[1]+v[2], v[1]-v[2]
	even2, odd2 := v[3]+v[4], v[3]-v[4]
	*v = line{
		v[0] + even + even2,
		f[fP]*odd + f[fQ]*odd2,
		f[fPP]*even + f[fQQ]*even2,
		f[fPPP]*odd + f[fQQQ]*odd2 + v[5],
	}
}

func (f *Form) across(a *Across, forward func(*line)) {
	for r := range a.Rows {
		row := a.Src[r*a.Pitch:]
		for t := range a.Tiles {
			var v line
			for j := range f.Side {
				if at := f.Tile*t + j - a.Pad; at >= 0 && at < a.Width {
					v[j] = half.Float(binary.LittleEndian.Uint16(row[2*at:]))
					a.finite = a.finite && math.Float32bits(v[j])&0x7f800000 != 0x7f800000
				}
			}
			forward(&v)
			for j := range f.Side {
				a.Dst[j*a.Plane+r*a.Tiles+t] = v[j]
			}
		}
	}
}

func (f *Form) down(d *Down, forward func(*line)) {
	for t, to := range d.To {
		for j := range f.Side {
			var v line
			for i := range f.Side {
				v[i] = d.Src[(i%f.Tile*f.Side+j)*d.Plane+i/f.Tile*d.Shift+t]
			}
			forward(&v)
			for i := range f.Side {
				d.Dst[(j*f.Side+i)*d.Apart+to] = v[i]
			}
		}
	}
}

func (f *Form) back(b *Back, inverse func(*line)) {
	for t, to := range b.To {
		var half [4]line // of each row of places
		for j := range f.Side {
			var v line
			for i := range f.Side {
				v[i] = b.Src[(j*f.Side+i)*b.Apart+t]
			}
			inverse(&v)
			for i := range f.Tile {
				half[i][j] = v[i]
			}
		}
		for i := range f.Tile {
			inverse(&half[i])
			copy(b.Dst[to+i*b.Pitch:][:f.Tile], half[i][:])
		}
	}
}
