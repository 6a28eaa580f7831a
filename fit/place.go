package fit

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
)

// A grid is where the 33 knots lie. In the argument u of the table knot i is at
// (i - zero)*2^-log2.
type grid struct {
	scale, offset float64 // u = scale*x + offset
	form          td.TableForm
	zero          int // the knot at u = 0
	log2          int
	first, last   int
}

const segments = td.NumKnots - 1

func (g *grid) u(i int) float64 { return math.Ldexp(float64(i-g.zero), -g.log2) }
func (g *grid) x(i int) float64 { return (g.u(i) - g.offset) / g.scale }

// segment is the knot before x, of those of the domain, and how far x is on the
// way to the next.
func (g *grid) segment(x float64) (i int, t float64) {
	p := math.Ldexp(g.scale*x+g.offset, g.log2) + float64(g.zero)
	i = min(max(int(math.Floor(p)), g.first), g.last-1)
	return i, p - float64(i)
}

const (
	finest = 10 // log2 of the most knots for each unit
	fewest = 16 // segments of a domain that needs no layer before the table
)

// place lays the knots over a domain.
//
//	centred   -16…16 knots around 0     ends of the domain on knots, at least 16 segments between them
//	origin    0…32 knots from 0 on      likewise
//	scaled    -16…16, for Scale*x + Offset from end to end of the domain: the rest
func place(d Domain, o Options) (grid, error) {
	if err := d.check(); err != nil {
		return grid{}, err
	}
	for log2 := finest; log2 >= 0; log2-- {
		for _, g := range []grid{
			{scale: 1, form: td.FormCentred, zero: segments / 2, log2: log2},
			{scale: 1, form: td.FormOrigin, log2: log2},
		} {
			if g.form == td.FormOrigin && o.Left == Line {
				continue // no source says what lies left of its knots
			}
			if g.ends(d) && g.last-g.first >= fewest {
				return g, nil
			}
		}
	}
	return scaled(d)
}

func (d Domain) check() error {
	if !(d.Min < d.Max) || d.Min < -maxHalf || d.Max > maxHalf {
		return fmt.Errorf("domain from %v to %v: want numbers of fp16, from %v to %v, the lesser first", d.Min, d.Max, -maxHalf, maxHalf)
	}
	return nil
}

// ends finds the knots at the ends of a domain, if there are such.
func (g *grid) ends(d Domain) bool {
	first, last := math.Ldexp(d.Min, g.log2)+float64(g.zero), math.Ldexp(d.Max, g.log2)+float64(g.zero)
	if first < 0 || last > segments || first != math.Floor(first) || last != math.Floor(last) {
		return false
	}
	g.first, g.last = int(first), int(last)
	return true
}

// scaled lays all 33 knots over the domain. Scale and Offset are fp16 numbers, so
// that the outer knots may lie a little outside of it.
func scaled(d Domain) (grid, error) {
	g := grid{form: td.FormCentred, zero: segments / 2, last: segments}
	centre := d.Min/2 + d.Max/2
	most := segments / (d.Max - d.Min)
	fits := func(scale, offset float64) bool {
		g.scale, g.offset = scale, offset
		return scale > 0 && scale <= maxHalf && scale*d.Min+offset >= g.u(0) && scale*d.Max+offset <= g.u(segments)
	}
	const tries = 32
	for scale, i := rounded(most), 0; i < tries; i++ {
		if fits(scale, rounded(-scale*centre)+0) { // not -0
			return g, nil
		}
		scale = rounded(scale * (1 - 0x1p-11)) // the next below
	}
	// Far from 0 it is the offset that has too few bits; a power of two leaves it those of the centre.
	power := math.Exp2(math.Floor(math.Log2(most)))
	if fits(power, -power*rounded(centre)) || fits(power/2, -power/2*rounded(centre)) {
		return g, nil
	}
	return g, fmt.Errorf("domain from %v to %v: it is too narrow for 33 knots that fp16 numbers tell apart", d.Min, d.Max)
}
