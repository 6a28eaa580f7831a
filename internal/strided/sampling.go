package strided

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A sampling computes, for a stretch of a row of y, which elements of a plane of
// x its values are mixed of, and then mixes them for a group of channels.
type sampling struct {
	sink   *sink
	x      array
	tiles  grid            // of which W counts chunks and C groups of channels
	out    [td.NumAxes]int // extents of y
	points pointer
	whole  bool // y is of integers: values are rounded, not cut

	background float64
}

// A pointer finds the points of a row of y.
type pointer interface {
	// point fills in the mixes of the elements from i on, along W, and returns the
	// batch element of x that they are of.
	point(w *Scratch, i index, mixes mixes) (image int)
}

const (
	channelGroup = 32
	corners      = 4 // elements that a value is mixed of
)

// mixes are the elements of a plane of x, and their weights, of the values of a
// row, corners each. An offset of noElement is the background.
type mixes struct {
	offsets []int64
	weights []float64
}

const noElement = math.MinInt64

func newSampling(op *Op, points pointer) *sampling {
	y, x := &op.Operands[0], &op.Operands[1]
	k := &sampling{
		sink: newSink(op), x: x.array(), out: y.Dims, points: points,
		background: outsideValue(op.Params, x.Type),
	}
	space := y.Dims
	space[axisC] = (space[axisC] + channelGroup - 1) / channelGroup
	space[axisW] = (space[axisW] + chunk - 1) / chunk
	k.tiles = newGrid(space, allAxes)
	return k
}

// samplingOf are the fields of a class that computes where it samples. A resize
// does not, and has nothing outside.
func samplingOf(params td.Params) td.Sampling {
	switch p := params.(type) {
	case *td.Resample:
		return p.Sampling
	case *td.AffineTransform:
		return p.Sampling
	case *td.CropResize:
		return p.Sampling
	}
	return td.Sampling{}
}

// outsideValue is the value that a class has for what is outside.
func outsideValue(params td.Params, t tensor.DType) float64 {
	s := samplingOf(params)
	switch s.Padding {
	case td.PadBackground:
		return float64(s.Background)
	case td.PadNegative:
		v, _ := least(t)
		return float64(v)
	}
	return 0
}

func (k *sampling) Tiles() (n, grain int) {
	work := corners * min(k.out[axisW], chunk) * min(k.out[axisC], channelGroup)
	return k.tiles.count(), max(1, 8192/max(work, 1))
}

func (k *sampling) Need() Need {
	n := k.sink.need()
	if k.whole {
		n = k.sink.needInts()
	}
	n.Float += chunk
	n.Int += (corners + 1) * chunk
	n.Double += (corners + 1) * chunk
	return n
}

func (k *sampling) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i := k.tiles.place(t)
		i[axisW] *= chunk
		i[axisC] *= channelGroup
		n := min(chunk, k.out[axisW]-i[axisW])
		m := mixes{w.int[len(w.int)-corners*chunk:][:corners*n], w.double[:corners*n]}
		from := index{k.points.point(w, i, m), i[axisD]}
		for last := min(i[axisC]+channelGroup, k.out[axisC]); i[axisC] < last; i[axisC]++ {
			from[axisC] = i[axisC]
			sums := w.double[corners*chunk:][:n]
			k.mix(w, sums, k.x.at(&from), m)
			k.put(w, sums, i)
		}
	}
}

// mix computes the values of a row.
func (k *sampling) mix(w *Scratch, sums []float64, plane int, m mixes) {
	src := k.x.memory(w)
	for j := range sums {
		sum := 0.0
		for c, weight := range m.weights[corners*j : corners*j+corners] {
			if weight == 0 { // the element may be infinite, and 0·∞ is not a number
				continue
			}
			v := k.background
			if off := m.offsets[corners*j+c]; off != noElement {
				v = doubleAt(k.x.typ, src, plane+int(off))
			}
			sum += float64(weight * v)
		}
		sums[j] = sum
	}
}

func (k *sampling) put(w *Scratch, sums []float64, i index) {
	if k.whole {
		v := w.int[k.sink.needInts().Int:][:len(sums)]
		for j, s := range sums {
			v[j] = toInt(math.RoundToEven(s))
		}
		k.sink.putInts(w, v, i, axisW)
		return
	}
	v := w.float[:len(sums)]
	for j, s := range sums {
		v[j] = k.sink.round(s)
	}
	k.sink.put(w, v, i, axisW)
}

// A tap is the mix of two neighbours along an axis: 1-t of the one at lo, t of
// the one at hi.
type tap struct {
	lo, hi int
	t      float64
}

// set fills in mix j: of the elements at taps of H and W.
func (m mixes) set(j int, x *array, h, w tap) {
	at := func(c, h, w int, weight float64) {
		m.offsets[corners*j+c], m.weights[corners*j+c] = noElement, weight
		if h != nowhere && w != nowhere {
			m.offsets[corners*j+c] = int64(h*x.strides[axisH] + w*x.strides[axisW])
		}
	}
	at(0, h.lo, w.lo, (1-h.t)*(1-w.t))
	at(1, h.lo, w.hi, (1-h.t)*w.t)
	at(2, h.hi, w.lo, h.t*(1-w.t))
	at(3, h.hi, w.hi, h.t*w.t)
}

// farAway bounds positions, which come from data, to what an int holds.
const farAway = 1 << 30

// tapAt is the mix at a position of an axis of n elements, with what a padding
// mode has outside. What is not a number is far outside.
func tapAt(pos float64, n int, method td.SamplingMethod, outside func(i, n int) int) tap {
	if !(pos > -farAway) {
		pos = -farAway
	}
	pos = min(pos, farAway)
	if method == td.SampleNearest {
		at := outside(int(math.Floor(pos+0.5)), n)
		return tap{lo: at, hi: at}
	}
	lo := int(math.Floor(pos))
	return tap{outside(lo, n), outside(lo+1, n), pos - float64(lo)}
}

// positions turn a coordinate into a position on an axis of n elements. They are
// indexed by the coordinate mode.
var positions = map[td.CoordinateMode]struct {
	at func(v, n float64, align bool) float64
	// of is the coordinate of place i of n.
	of func(i, n float64, align bool) float64
}{
	td.CoordNonNormalized: {
		func(v, _ float64, _ bool) float64 { return v },
		func(i, _ float64, _ bool) float64 { return i }},
	td.CoordNormalizedSymmetric: {
		func(v, n float64, align bool) float64 {
			if align {
				return (v + 1) / 2 * (n - 1)
			}
			return (float64((v+1)*n) - 1) / 2
		},
		func(i, n float64, align bool) float64 {
			switch {
			case !align:
				return (2*i+1)/n - 1
			case n == 1:
				return 0
			}
			return 2*i/(n-1) - 1
		}},
	td.CoordNormalizedUnit: {
		func(v, n float64, align bool) float64 {
			if align {
				return v * (n - 1)
			}
			return float64(v*n) - 0.5
		},
		func(i, n float64, align bool) float64 {
			switch {
			case !align:
				return (i + 0.5) / n
			case n == 1:
				return 0.5
			}
			return i / (n - 1)
		}},
}

// A plane is what points of a plane of x are found with.
type plane struct {
	x             array
	height, width int
	method        td.SamplingMethod
	align         bool
	position, of  func(v, n float64, align bool) float64
	outside       func(i, n int) int
}

func newPlane(op *Op) (plane, error) {
	s, x := samplingOf(op.Params), &op.Operands[1]
	mode, ok := positions[s.Coordinate]
	if !ok {
		return plane{}, fmt.Errorf("what coordinate mode %v means is not known", s.Coordinate)
	}
	return plane{
		x: x.array(), height: x.Dims[axisH], width: x.Dims[axisW], method: s.Method, align: s.AlignCorners,
		position: mode.at, of: mode.of, outside: paddings[s.Padding],
	}, nil
}

// sample fills in the mix at a coordinate.
func (p *plane) sample(m mixes, j int, h, w float64) {
	m.set(j, &p.x,
		tapAt(p.position(h, float64(p.height), p.align), p.height, p.method, p.outside),
		tapAt(p.position(w, float64(p.width), p.align), p.width, p.method, p.outside))
}

// resample takes coordinates from an operand.
type resample struct {
	plane
	coordinates array
	both        bool // coordinates of W and H
}

func bindResample(op *Op) (Kernel, error) {
	p, err := newPlane(op)
	if err != nil {
		return nil, err
	}
	return newSampling(op, &resample{p, op.Operands[2].array(), op.Operands[2].Dims[axisC] == 2}), nil
}

func (p *resample) point(w *Scratch, i index, m mixes) (image int) {
	src, at := p.coordinates.memory(w), index{i[axisN], 0, 0, i[axisH], i[axisW]}
	for j := range len(m.weights) / corners {
		at[axisC], at[axisW] = 0, i[axisW]+j
		across := doubleAt(p.coordinates.typ, src, p.coordinates.at(&at))
		if p.both {
			at[axisC] = 1
			p.sample(m, j, doubleAt(p.coordinates.typ, src, p.coordinates.at(&at)), across)
			continue
		}
		m.set(j, &p.x, tap{lo: i[axisH], hi: i[axisH]}, tapAt(p.position(across, float64(p.width), p.align), p.width, p.method, p.outside))
	}
	return i[axisN]
}

// affine takes coordinates that a matrix makes of those of y.
type affine struct {
	plane
	matrix array
	out    [td.NumAxes]int
}

func bindAffine(op *Op) (Kernel, error) {
	p, err := newPlane(op)
	if err != nil {
		return nil, err
	}
	return newSampling(op, &affine{p, op.Operands[2].array(), op.Operands[0].Dims}), nil
}

func (p *affine) point(w *Scratch, i index, m mixes) (image int) {
	var a [6]float64
	src := p.matrix.memory(w)
	for e := range a {
		a[e] = doubleAt(p.matrix.typ, src, p.matrix.at(&index{i[axisN], 0, 0, e / 3, e % 3}))
	}
	down := p.of(float64(i[axisH]), float64(p.out[axisH]), p.align)
	for j := range len(m.weights) / corners {
		across := p.of(float64(i[axisW]+j), float64(p.out[axisW]), p.align)
		p.sample(m, j,
			float64(a[3]*across)+float64(a[4]*down)+a[5],
			float64(a[0]*across)+float64(a[1]*down)+a[2])
	}
	return i[axisN]
}
