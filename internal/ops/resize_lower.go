package ops

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// samplingGrids are the names that layers have for the ways to lay points over an axis.
var samplingGrids = map[string]td.SamplingGrid{
	"STRICT_ALIGN_CORNERS": td.GridStrictAlignedCorners,
	"ALIGN_CORNERS":        td.GridAlignedCorners,
	"DEFAULT":              td.GridDefault,
	"OFFSET_CORNERS":       td.GridOffsetCorners,
	"UNALIGN_CORNERS":      td.GridUnalignedCorners,
}

// resizeLinearly resizes the last two axes by linear interpolation.
func (l *Lowering) resizeLinearly(mode string) error {
	return l.giveResized(2, anec.Resize{Method: td.SampleLinear, Grid: samplingGrids[mode]})
}

// lowerNearest resizes the last two axes by repeating or dropping elements.
func lowerNearest(l *Lowering) error {
	return l.giveResized(2, anec.Resize{Method: td.SampleNearest, Grid: td.GridDefault, Rounding: td.RoundFloor})
}

func lowerResize(l *Lowering) error {
	r := anec.Resize{Method: td.SampleLinear, Grid: samplingGrids[l.Str("sampling_mode")]}
	if l.Str("interpolation_mode") == "NEAREST_NEIGHBOR" {
		r.Method, r.Rounding = td.SampleNearest, td.RoundPreferCeil
	}
	return l.giveResized(l.Int("resized_dims"), r)
}

// giveResized resizes the last axes of x to the lengths of the result: H and W by one layer, as they lie, those before
// one at a time.
func (l *Lowering) giveResized(resized int, r anec.Resize) error {
	rank, to := l.Rank("x"), l.OutDims(0)
	x := l.In("x")
	if l.Err() != nil {
		return nil
	}
	// Points that are laid over an axis of the same length are its elements, but for one grid: that axis has to be
	// resized though its length stays, and an axis that is not to be resized must not stand beside it.
	shifts := r.Grid == td.GridOffsetCorners && r.Method == td.SampleLinear
	var before, plane []td.Axis
	for i := rank - resized; i < rank; i++ {
		switch a := anec.AxisOf(rank, i); {
		case to[a] == x.Type.Dims[a] && !shifts:
		case a == anec.H || a == anec.W:
			plane = append(plane, a)
		default:
			before = append(before, a)
		}
	}
	if len(plane) == 2 || len(plane) == 1 && !shifts {
		r.Size = [2]int{to[anec.H], to[anec.W]}
		x = l.Layer(l.Name(), &r, x)
		plane = nil
	}
	for _, a := range slices.Concat(plane, before) {
		var err error
		if x, err = l.resizeAxis(x, a, to[a], r); err != nil {
			return err
		}
	}
	l.Give(0, x)
	return nil
}

// resizeAxis resizes one axis: it takes the place of W, and one of extent 1 that of H, which stays as it is on
// every grid.
//
//	n,1,c,h,w  along C  Transpose n,h,w,1,c  Resize n,h,w,1,c'  Transpose n,1,c',h,w
func (l *Lowering) resizeAxis(x *anec.Value, axis td.Axis, length int, r anec.Resize) (*anec.Value, error) {
	if l.Err() != nil {
		return nil, nil
	}
	d := x.Type.Dims
	if axis != anec.N && axis != anec.D { // five axes of the model leave none free
		x = l.Reshape(x, anec.Dims{d[anec.N] * d[anec.D], 1, d[anec.C], d[anec.H], d[anec.W]})
	}
	perm := anec.Perm{anec.NumAxes, anec.NumAxes, anec.NumAxes, anec.NumAxes, axis}
	rest := 0
	for a, n := range x.Type.Dims {
		switch {
		case td.Axis(a) == axis:
		case n == 1 && perm[anec.H] == anec.NumAxes:
			perm[anec.H] = td.Axis(a)
		case rest == int(anec.H): // its place is taken
			return nil, l.Refuse("%v of %v is to be resized: a layer resizes along two axes, and no other is free", axis, d)
		default:
			perm[rest] = td.Axis(a)
			rest++
		}
	}
	r.Size = [2]int{1, length}
	x = l.Transpose(l.Layer(l.Name(), &r, l.Transpose(x, perm)), perm.Inverse())
	return l.Reshape(x, d.With(axis, length)), nil
}
