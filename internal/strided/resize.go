package strided

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
)

// grids lay m points over an axis of n elements, whose positions are 0 to n-1:
// where point i is, before it is brought into that interval. They are indexed by
// the sampling grid. Products come before quotients: where a position is a whole
// number, it is exactly one. What the grids that are missing mean is not known.
var grids = map[td.SamplingGrid]func(i, n, m float64) float64{
	td.GridAlignedCorners: func(i, n, m float64) float64 {
		if m == 1 {
			return (n - 1) / 2
		}
		return i * (n - 1) / (m - 1)
	},
	td.GridUnalignedCorners:     func(i, n, m float64) float64 { return (i+0.5)*n/m - 0.5 },
	td.GridOffsetCorners:        func(i, n, m float64) float64 { return (i + 0.5) * max(1, n-1) / m },
	td.GridDefault:              func(i, n, m float64) float64 { return i * n / m },
	td.GridStrictAlignedCorners: func(i, n, m float64) float64 { return i * (n - 1) / max(1, m-1) },
}

// roundings choose an element for a position. They are indexed by the rounding.
var roundings = map[td.NearestRounding]func(float64) float64{
	td.RoundPreferCeil:  func(v float64) float64 { return math.Floor(v + 0.5) },
	td.RoundPreferFloor: func(v float64) float64 { return math.Ceil(v - 0.5) },
	td.RoundCeil:        math.Ceil,
	td.RoundFloor:       math.Floor,
	td.RoundToEven:      math.RoundToEven,
	td.RoundToOdd: func(v float64) float64 {
		if v-math.Floor(v) == 0.5 {
			return math.Floor(v) + 1 - math.Mod(math.Floor(v), 2)
		}
		return math.Round(v)
	},
}

// An axisGrid lays the points of a resized axis.
type axisGrid struct {
	n        int
	points   float64 // how many
	distance float64 // y over x, 0: by the extents
	grid     td.SamplingGrid
	at       func(i, n, m float64) float64
}

// position is where point i is.
func (g *axisGrid) position(i int) float64 {
	pos, at := 0.0, float64(i)
	switch n := float64(g.n); {
	case g.distance == 0:
		pos = g.at(at, n, g.points)
	case g.grid == td.GridUnalignedCorners:
		pos = (at+0.5)/g.distance - 0.5
	default:
		pos = at / g.distance
	}
	return min(max(pos, 0), float64(g.n-1))
}

// newGrids lays the points of a resize along H and W.
func newGrids(op *Op) (g [2]axisGrid, err error) {
	p := op.Params.(*td.Resize)
	at, ok := grids[p.Grid]
	if !ok {
		return g, fmt.Errorf("what sampling grid %v means is not known", p.Grid)
	}
	for e, a := range [2]int{axisH, axisW} {
		g[e] = axisGrid{op.Operands[1].Dims[a], float64(op.Operands[0].Dims[a]), float64(p.Scale[e]), p.Grid, at}
	}
	return g, nil
}

// isNearest reports whether an operation takes the nearest elements.
func isNearest(op *Op) bool { return op.Params.(*td.Resize).Method == td.SampleNearest }

// bindResizeNearest is a resize that takes elements as they are.
func bindResizeNearest(op *Op) (*relocation, error) {
	g, err := newGrids(op)
	if err != nil {
		return nil, err
	}
	k, round := newRelocation(op), roundings[op.Params.(*td.Resize).Rounding]
	for e, a := range [2]int{axisH, axisW} {
		along := &g[e]
		k.from[a] = func(_ *Scratch, i int) spot {
			return k.along(a, min(int(round(along.position(i))), along.n-1))
		}
	}
	return k, nil
}

// resize mixes elements.
type resize struct {
	x     array
	grids [2]axisGrid
}

func bindResize(op *Op) (Kernel, error) {
	g, err := newGrids(op)
	if err != nil {
		return nil, err
	}
	return newSampling(op, &resize{op.Operands[1].array(), g}), nil
}

// bindResizeInt is bindResize of integers, which are rounded to the nearest, ties
// to even.
func bindResizeInt(op *Op) (Kernel, error) {
	g, err := newGrids(op)
	if err != nil {
		return nil, err
	}
	k := newSampling(op, &resize{op.Operands[1].array(), g})
	k.whole = true
	return k, nil
}

func (p *resize) point(_ *Scratch, i index, m mixes) (image int) {
	row := p.grids[0].tap(i[axisH])
	for j := range len(m.weights) / corners {
		m.set(j, &p.x, row, p.grids[1].tap(i[axisW]+j))
	}
	return i[axisN]
}

// tap is the mix of point i.
func (g *axisGrid) tap(i int) tap {
	pos := g.position(i)
	lo := int(math.Floor(pos))
	return tap{lo, min(lo+1, g.n-1), pos - float64(lo)}
}

func samplingRows() []Row {
	return append(relocator(bindResizeNearest).rows("resize-nearest", td.ClassResize, isNearest), []Row{
		{"resize-int", td.ClassResize, Bound{}, integers, bindResizeInt, "integers, mixed in fp64 and rounded"},
		{"resize", td.ClassResize, Bound{2, 1}, nil, bindResize, "four elements, mixed in fp64"},
		{"resample", td.ClassResample, Bound{2, 1}, nil, bindResample, "as resize, a group of channels at once"},
		{"affine", td.ClassAffineTransform, Bound{2, 1}, nil, bindAffine, "as resample"},
		{"cropresize", td.ClassCropResize, Bound{2, 1}, nil, bindCropResize, "as resample"},
	}...)
}
