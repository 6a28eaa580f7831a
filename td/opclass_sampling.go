package td

import (
	"fmt"
	"math"
)

var (
	samplingFields = []string{"Method", "Coordinate", "Padding", "Background~", "AlignCorners?"}

	resizeRow          = newClassRow(ClassResize, func() Params { return new(Resize) }, "y", "x", 1, "Method", "Grid", "Rounding", "ScaleH~", "ScaleW~")
	resampleRow        = newClassRow(ClassResample, func() Params { return new(Resample) }, "y", "x coordinates", 2, samplingFields...)
	affineTransformRow = newClassRow(ClassAffineTransform, func() Params { return new(AffineTransform) }, "y", "x matrix", 2, samplingFields...)
	cropResizeRow      = newClassRow(ClassCropResize, func() Params { return new(CropResize) }, "y", "x boxes", 2,
		append(samplingFields[:5:5], "Grid", "Boxes", "Scale~")...)

	samplingRows = []*classRow{resizeRow, resampleRow, affineTransformRow, cropResizeRow}
)

// Resize samples x on another grid along H and W, on as many points as y has
// there. Their distance is the extent of x over that of y, or, for the grids
// Default and UnalignedCorners, one over Scale (H, W) where it is not 0.
type Resize struct {
	Method   SamplingMethod
	Grid     SamplingGrid
	Rounding NearestRounding // of SampleNearest
	Scale    [2]float32
}

func (p *Resize) row() *classRow { return resizeRow }

func (p *Resize) values() []any {
	return []any{(*uint8)(&p.Method), (*uint8)(&p.Grid), (*uint8)(&p.Rounding), &p.Scale[0], &p.Scale[1]}
}

func (p *Resize) check(o *Op) error {
	if err := known(p.Method, p.Grid, p.Rounding); err != nil {
		return err
	}
	for i, a := range planeAxes {
		switch s := float64(p.Scale[i]); {
		case s == 0:
		case !(s > 0) || math.IsInf(s, 1):
			return fmt.Errorf("scale %v along %v", s, a)
		case p.Grid != GridDefault && p.Grid != GridUnalignedCorners:
			return fmt.Errorf("scale %v along %v: %v lays its points by the extents", s, a, p.Grid)
		}
	}
	return o.sampled(true)
}

var planeAxes = [2]Axis{AxisH, AxisW}

// sampled holds y to x but for H and W, where x has something if y has.
func (o *Op) sampled(batch bool) error {
	y, x := &o.Operands[0], &o.Operands[1]
	for a := range Axis(NumAxes) {
		switch {
		case a == AxisH || a == AxisW:
			if x.Dims[a] == 0 && y.Dims[a] != 0 {
				return fmt.Errorf("x has nothing along %v", a)
			}
		case a == AxisN && !batch:
		case y.Dims[a] != x.Dims[a]:
			return fmt.Errorf("y has %d along %v, x has %d", y.Dims[a], a, x.Dims[a])
		}
	}
	return nil
}

// Sampling is how a class that computes where it samples does so.
type Sampling struct {
	Method     SamplingMethod
	Coordinate CoordinateMode
	Padding    PaddingMode
	Background float32

	// AlignCorners: the ends of a normalized range are the centres of the outer
	// elements, not their outer edges.
	AlignCorners bool
}

func (s *Sampling) values() []any {
	return []any{(*uint8)(&s.Method), (*uint8)(&s.Coordinate), (*uint8)(&s.Padding), &s.Background, &s.AlignCorners}
}

func (s *Sampling) check() error { return known(s.Method, s.Coordinate, s.Padding) }

// Resample takes elements of x at positions that an operand gives: one channel
// of coordinates for W, or two, for W and then H. y has its extents along H and
// W. A nearest element is that of the position plus a half, rounded down.
type Resample struct{ Sampling }

func (p *Resample) row() *classRow { return resampleRow }

func (p *Resample) check(o *Op) error {
	if err := p.Sampling.check(); err != nil {
		return err
	}
	y, x, at := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	want := [NumAxes]int{at.Dims[AxisN], 1, 2, y.Dims[AxisH], y.Dims[AxisW]}
	if at.Dims[AxisC] == 1 { // H is that of x
		want[AxisC] = 1
		if y.Dims[AxisH] != x.Dims[AxisH] {
			return fmt.Errorf("y has %d along H, x has %d and coordinates are for W alone", y.Dims[AxisH], x.Dims[AxisH])
		}
		if at.Dims[AxisH] == 1 {
			want[AxisH] = 1
		}
	}
	if at.Dims != want {
		return fmt.Errorf("coordinates has extents %v, want %v", at.Dims, want)
	}
	if n := at.Dims[AxisN]; n != 1 && n != x.Dims[AxisN] {
		return fmt.Errorf("coordinates has %d along N, want 1 or %d", n, x.Dims[AxisN])
	}
	return o.sampled(true)
}

// AffineTransform samples x on a grid that a matrix of two rows (H) and three
// columns (W), one for all or one for each batch element, maps each position of
// y to: (W, H, 1) of y, in the coordinates of the mode, to W and H of x.
type AffineTransform struct{ Sampling }

func (p *AffineTransform) row() *classRow { return affineTransformRow }

func (p *AffineTransform) check(o *Op) error {
	if err := p.Sampling.check(); err != nil {
		return err
	}
	x, m := &o.Operands[1], &o.Operands[2]
	n := m.Dims[AxisN]
	if n != 1 && n != x.Dims[AxisN] {
		return fmt.Errorf("matrix has %d along N, want 1 or %d", n, x.Dims[AxisN])
	}
	if want := [NumAxes]int{n, 1, 1, 2, 3}; m.Dims != want {
		return fmt.Errorf("matrix has extents %v, want %v", m.Dims, want)
	}
	return o.sampled(true)
}

// CropResize cuts boxes out of x and resizes each. A box is four numbers along
// C, or five, the first of which is the batch element that it is cut from, the
// nearest if there is none such; with four, box i is cut from batch element i,
// or all from the only one. y has the boxes along N.
//
// The numbers of a box, times Scale, are positions of its first and its last
// point; the grid is laid over the axis that they span. Normalized, 0 and 1 are
// the first and the last element of x. A point outside x is Background.
type CropResize struct {
	Sampling
	Grid  SamplingGrid
	Boxes BoxMode
	Scale float32
}

func (p *CropResize) row() *classRow { return cropResizeRow }

func (p *CropResize) values() []any {
	return append(p.Sampling.values(), (*uint8)(&p.Grid), (*uint8)(&p.Boxes), &p.Scale)
}

func (p *CropResize) check(o *Op) error {
	if err := p.Sampling.check(); err != nil {
		return err
	}
	if err := known(p.Grid, p.Boxes); err != nil {
		return err
	}
	y, x, boxes := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	n, c := boxes.Dims[AxisN], boxes.Dims[AxisC]
	if c != 4 && c != 5 {
		return fmt.Errorf("boxes has %d along C, want 4 or 5", c)
	}
	if want := [NumAxes]int{n, 1, c, 1, 1}; boxes.Dims != want {
		return fmt.Errorf("boxes has extents %v, want %v", boxes.Dims, want)
	}
	switch images := x.Dims[AxisN]; {
	case y.Dims[AxisN] != n:
		return fmt.Errorf("y has %d along N, boxes has %d", y.Dims[AxisN], n)
	case c == 4 && images != 1 && images != n:
		return fmt.Errorf("%d boxes without an index for %d batch elements", n, images)
	case images == 0 && n != 0:
		return fmt.Errorf("x has nothing along N")
	}
	return o.sampled(false)
}
