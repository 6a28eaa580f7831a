package strided

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// boxes find the first and last point of a box along H and W. They are indexed
// by the box mode.
var boxes = map[td.BoxMode]func(v [4]float64) (first, last [2]float64){
	td.BoxCornersHeightFirst: func(v [4]float64) (first, last [2]float64) {
		return [2]float64{v[0], v[1]}, [2]float64{v[2], v[3]}
	},
	td.BoxCornersWidthFirst: func(v [4]float64) (first, last [2]float64) {
		return [2]float64{v[1], v[0]}, [2]float64{v[3], v[2]}
	},
	td.BoxCenterHeightFirst: func(v [4]float64) (first, last [2]float64) {
		return [2]float64{v[0] - v[2]/2, v[1] - v[3]/2}, [2]float64{v[0] + v[2]/2, v[1] + v[3]/2}
	},
	td.BoxCenterWidthFirst: func(v [4]float64) (first, last [2]float64) {
		return [2]float64{v[1] - v[3]/2, v[0] - v[2]/2}, [2]float64{v[1] + v[3]/2, v[0] + v[2]/2}
	},
}

// cropResize lays a grid over a box that an operand gives.
type cropResize struct {
	x, boxes array
	in       [2]int // extents of x along H and W
	images   int
	numbers  int // of a box: four, or five with the batch element
	out      [2]float64
	scale    [2]float64 // by which the numbers of a box are multiplied
	method   td.SamplingMethod
	outside  func(i, n int) int
	box      func(v [4]float64) (first, last [2]float64)
	grid     func(i, n, m float64) float64
}

func bindCropResize(op *Op) (Kernel, error) {
	s, y, x := op.Params.(*td.CropResize), &op.Operands[0], &op.Operands[1]
	grid, ok := grids[s.Grid]
	if !ok {
		return nil, fmt.Errorf("what sampling grid %v means is not known", s.Grid)
	}
	k := &cropResize{
		x: x.array(), boxes: op.Operands[2].array(), images: x.Dims[axisN], numbers: op.Operands[2].Dims[axisC],
		method: s.Method, outside: paddings[s.Padding], box: boxes[s.Boxes], grid: grid,
	}
	for e, a := range [2]int{axisH, axisW} {
		k.in[e], k.out[e], k.scale[e] = x.Dims[a], float64(y.Dims[a]), float64(s.Scale)
		switch s.Coordinate {
		case td.CoordNormalizedUnit:
			k.scale[e] *= float64(x.Dims[a] - 1)
		case td.CoordNonNormalized:
		default:
			return nil, fmt.Errorf("what coordinate mode %v means for a box is not known", s.Coordinate)
		}
	}
	return newSampling(op, k), nil
}

func (k *cropResize) point(w *Scratch, i index, m mixes) (image int) {
	var v [5]float64
	src := k.boxes.memory(w)
	for e := range k.numbers {
		v[5-k.numbers+e] = doubleAt(k.boxes.typ, src, k.boxes.at(&index{i[axisN], 0, e, 0, 0}))
	}
	image = i[axisN]
	if k.numbers == 5 {
		image = int(min(max(toInt(v[0]), 0), int64(k.images-1)))
	} else if k.images == 1 {
		image = 0
	}
	first, last := k.box([4]float64(v[1:]))
	row := k.tap(0, first[0], last[0], i[axisH])
	for j := range len(m.weights) / corners {
		m.set(j, &k.x, row, k.tap(1, first[1], last[1], i[axisW]+j))
	}
	return image
}

// tap is the mix of point i between the first and the last of a box, which may
// run backwards. The points are laid as over an axis with one element more than
// the distance.
func (k *cropResize) tap(e int, first, last float64, i int) tap {
	first, last = float64(first*k.scale[e]), float64(last*k.scale[e])
	length, sign := last-first, 1.0
	if length < 0 {
		length, sign = -length, -1
	}
	along := min(max(k.grid(float64(i), length+1, k.out[e]), 0), length)
	// In fp32: the last point of a box that ends at the edge must not miss it by a
	// rounding error.
	pos := float64(float32(first + sign*along))
	n := k.in[e]
	switch {
	case pos >= 0 && pos <= float64(n-1): // what follows the last element weighs nothing
		t := tapAt(pos, n, k.method, inside)
		if t.hi == nowhere {
			t.hi = t.lo
		}
		return t
	case k.outside(-1, n) == nowhere: // a point outside is all background
		return tap{lo: nowhere, hi: nowhere}
	}
	return tapAt(pos, n, k.method, k.outside)
}
