package segment

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// IsView reports whether the layer moves nothing: its top is its bottom seen with other strides. An epilogue or
// another element type makes a task of every layer.
func IsView(l *anec.Layer) bool {
	return l.Info().View.When(l.Params) && IsBare(l)
}

// bare reports whether the layer does no more than its kind says.
func IsBare(l *anec.Layer) bool {
	return l.Epilogue.Empty() && (l.OutputType == tensor.Invalid || l.OutputType == l.Bottoms[0].Type.DType)
}

// ViewOf returns the spot of a view's top, from that of its bottom; false if no strides express it.
//
//	Reshape    [2,3,4] strides 12 4 1  → [6,4]    strides 4 1     axes that lie side by side merge and divide
//	Transpose  [3,4]   strides 4 1     → [4,3]    strides 1 4
//	InputView  [3,4]   strides 4 1     → [3,2]    strides 4 1, from an offset; a step multiplies
//	Broadcast  [3,1]   strides 1 1     → [3,4]    strides 1 0
func ViewOf(l *anec.Layer, x Spot) (Spot, bool) {
	from, to := l.Bottoms[0].Type, l.Top().Type
	if from.DType.SubByte() { // packed: the order of the elements is all there is
		return x, sameOrder(l)
	}
	y := x
	switch p := l.Params.(type) {
	case *anec.Reshape:
		ok := false
		y.Strides, ok = reshapedStrides(from.Dims, x.Strides, to.Dims, int64(from.DType.Size()))
		return y, ok
	case *anec.Transpose:
		for i, a := range p.Perm {
			y.Strides[i] = x.Strides[a]
		}
	case *anec.InputView:
		if p.Size > 0 {
			y.Offset += int64(p.Offset) * x.Strides[p.Axis]
			y.Strides[p.Axis] *= int64(p.Step)
		}
	case *anec.Broadcast:
		for a := range y.Strides {
			if from.Dims[a] != to.Dims[a] {
				y.Strides[a] = 0
			}
		}
	}
	return y, true
}

// BottomOf is the inverse: where the bottom has to lie so that the top lies at y. A view of less or more than the
// bottom has none.
func BottomOf(l *anec.Layer, y Spot) (Spot, bool) {
	from, to := l.Bottoms[0].Type, l.Top().Type
	if from.DType.SubByte() {
		return y, sameOrder(l)
	}
	x := y
	switch p := l.Params.(type) {
	case *anec.Reshape:
		ok := false
		x.Strides, ok = reshapedStrides(to.Dims, y.Strides, from.Dims, int64(from.DType.Size()))
		return x, ok
	case *anec.Transpose:
		for i, a := range p.Perm {
			x.Strides[a] = y.Strides[i]
		}
	case *anec.InputView:
		return x, from.Dims == to.Dims && p.Step == 1
	case *anec.Broadcast:
		return x, from.Dims == to.Dims
	}
	return x, true
}

// sameOrder reports whether a view leaves the elements in the order in which they are.
func sameOrder(l *anec.Layer) bool {
	switch p := l.Params.(type) {
	case *anec.Transpose:
		return OnlyReshapes(p.Perm, l.Bottoms[0].Type.Dims)
	case *anec.InputView:
		return l.Bottoms[0].Type.Dims == l.Top().Type.Dims && p.Step == 1
	case *anec.Broadcast:
		return l.Bottoms[0].Type.Dims == l.Top().Type.Dims
	}
	return true
}

// reshapedStrides returns strides with which the same elements, in the same order, have other extents. Both lists of
// extents divide into groups with the same product, as short as can be; inside a group, the old axes must lie
// side by side:
//
//	old  2 · 3 | 4 · 5        new  6 | 2 · 2 · 5
func reshapedStrides(from anec.Dims, strides [anec.NumAxes]int64, to anec.Dims, size int64) (out [anec.NumAxes]int64, ok bool) {
	var old, now []int // axes with more than one element
	for a := range from {
		if from[a] == 0 {
			return td.Dense(0, 0, tensor.UInt8, to).Strides, true // nothing lies anywhere
		}
		if from[a] != 1 {
			old = append(old, a)
		}
		if to[a] != 1 {
			now = append(now, a)
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(now); {
		firstOld, firstNow := i, j
		have, want := from[old[i]], to[now[j]]
		for i, j = i+1, j+1; have != want; {
			if have < want {
				have *= from[old[i]]
				i++
			} else {
				want *= to[now[j]]
				j++
			}
		}
		for k := firstOld; k < i-1; k++ {
			if strides[old[k]] != int64(from[old[k+1]])*strides[old[k+1]] {
				return out, false
			}
		}
		step := strides[old[i-1]]
		for k := j - 1; k >= firstNow; k-- {
			out[now[k]] = step
			step *= int64(to[now[k]])
		}
	}
	step := size // along axes of one element strides lead nowhere; they are made to look dense
	for a := anec.NumAxes - 1; a >= 0; a-- {
		if to[a] == 1 {
			out[a] = step
		}
		step = out[a] * int64(to[a])
	}
	return out, true
}

// PartsOf returns the spots of the parts of a concatenation that lies at y.
func PartsOf(l *anec.Layer, y Spot) []Spot {
	p := l.Params.(*anec.Concat)
	parts := make([]Spot, len(l.Bottoms))
	step := y.Strides[p.Axis]
	if p.Interleave {
		y.Strides[p.Axis] *= int64(len(parts))
	}
	for i, v := range l.Bottoms {
		parts[i] = y
		if p.Interleave {
			y.Offset += step
		} else {
			y.Offset += step * int64(v.Type.Dims[p.Axis])
		}
	}
	return parts
}
