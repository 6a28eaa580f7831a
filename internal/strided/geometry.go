package strided

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
)

// crossProduct computes the three channels of a stretch of a row together.
type crossProduct struct {
	rowsOf
	sink *sink
	x, z array
}

func bindCrossProduct(op *Op) (Kernel, error) {
	k := &crossProduct{sink: newSink(op), x: op.Operands[1].array(), z: op.Operands[2].array()}
	space := op.Operands[0].Dims
	space[axisC] = 1
	k.rowsOf = newRows(space, rowAxis(space, allAxes&^(1<<axisC), &k.sink.out))
	return k, nil
}

func (k *crossProduct) Need() Need { return k.sink.need().Max(Need{Float: 7 * chunk}) }

func (k *crossProduct) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		var x, z [3][]float32
		for c := range x {
			x[c], z[c] = w.float[c*chunk:][:n], w.float[(3+c)*chunk:][:n]
			at := i
			at[axisC] = c
			k.x.load(w, x[c], at, k.axis)
			k.z.load(w, z[c], at, k.axis)
		}
		v := w.float[6*chunk:][:n]
		for c := range x {
			a, b := (c+1)%3, (c+2)%3
			for j := range v { // the products are exact
				v[j] = k.sink.round(float64(x[a][j])*float64(z[b][j]) - float64(x[b][j])*float64(z[a][j]))
			}
			i[axisC] = c
			k.sink.put(w, v, i, k.axis)
		}
	}
}

// bindCrossCorrelation makes a convolution of it, whose weights are the template
// with its axes told apart.
func bindCrossCorrelation(op *Op) (Kernel, error) {
	y, x, template, p := &op.Operands[0], &op.Operands[1], &op.Operands[2], op.Params.(*td.CrossCorrelation)
	weights := *template
	weights.Interleave = 1
	weights.Dims = [td.NumAxes]int{
		y.Dims[axisC], 1, x.Dims[axisC] / p.Groups, p.Template[0], p.Template[1],
	}
	if !template.Type.SubByte() {
		stride := template.Strides[axisW]
		for a := td.NumAxes - 1; a >= 0; a-- {
			weights.Strides[a] = stride
			stride *= int64(weights.Dims[a])
		}
	}
	params := &td.Convolution{Groups: p.Groups, Window: td.UnitWindow}
	copy(params.Kernel[1:], p.Template[:])
	copy(params.PadBefore[1:], p.PadBefore[:])
	conv := Op{Params: params, Packs: op.Packs, Rules: op.Rules, Gemm: op.Gemm, Operands: []Operand{*y, *x, weights, {}}}
	conv.Operands = append(conv.Operands, op.Operands[3:]...)
	for _, m := range op.Epilogue {
		switch i, ok := m.Source.Operand(); {
		case !ok:
		case i == 2:
			m.Source = td.FromOperand(len(conv.Operands))
		case i > 2: // the place of the bias is before it
			m.Source = td.FromOperand(i + 1)
		}
		conv.Epilogue = append(conv.Epilogue, m)
	}
	conv.Operands = append(conv.Operands, *template) // as the epilogue sees it
	return bindConv(&conv)
}

// costVolume has the disparities along C.
type costVolume struct {
	rowsOf
	sink     *sink
	aux, ref array
}

func bindCostVolume(op *Op) (Kernel, error) {
	k := &costVolume{sink: newSink(op), aux: op.Operands[1].array(), ref: op.Operands[2].array()}
	space := op.Operands[0].Dims
	k.rowsOf = newRows(space, rowAxis(space, allAxes&^(1<<axisC), &k.sink.out))
	return k, nil
}

func (k *costVolume) Need() Need { return k.sink.need().Max(Need{Float: 2 * chunk}) }

func (k *costVolume) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v, ref := w.float[:n], w.float[chunk:][:n]
		k.aux.load(w, v, i, k.axis)
		shifted := i
		shifted[axisW] += i[axisC]
		k.ref.load(w, ref, shifted, k.axis)
		for j, a := range v {
			v[j] = k.sink.round(math.Abs(float64(a) - float64(ref[j])))
		}
		k.sink.put(w, v, i, k.axis)
	}
}

// furthestPoints takes points of one batch element at a time.
type furthestPoints struct {
	sink                 *sink
	points               array
	batches, from, count int
	metric               td.DistanceMetric
}

func bindFurthestPoints(op *Op) (Kernel, error) {
	metric := op.Params.(*td.FurthestPointSampling).Metric
	if metric != td.DistanceL1 && metric != td.DistanceL2 {
		return nil, fmt.Errorf("%v is not known", metric)
	}
	y, points := &op.Operands[0], &op.Operands[1]
	return &furthestPoints{
		sink: newSink(op), points: points.array(), metric: metric,
		batches: y.Dims[axisN], from: points.Dims[axisW], count: y.Dims[axisW],
	}, nil
}

func (k *furthestPoints) Tiles() (n, grain int) { return k.batches, 1 }

// Need has the points, the distance of each from those that are taken, and which
// are taken.
func (k *furthestPoints) Need() Need {
	return k.sink.need().Max(Need{Float: 3*k.from + chunk, Double: k.from, Int: k.count})
}

func (k *furthestPoints) Run(w *Scratch, lo, hi int) {
	var p [3][]float32
	for c := range p {
		p[c] = w.float[c*k.from:][:k.from]
	}
	v := w.float[3*k.from:]
	for t := lo; t < hi; t++ {
		for c := range p {
			k.points.load(w, p[c], index{axisN: t, axisC: c}, axisW)
		}
		taken := w.int[:k.count]
		k.take(taken, w.double[:k.from], &p)
		for c := range p {
			for at := 0; at < k.count; at += chunk {
				row := v[:min(chunk, k.count-at)]
				for j := range row {
					row[j] = p[c][taken[at+j]]
				}
				k.sink.put(w, row, index{axisN: t, axisC: c, axisW: at}, axisW)
			}
		}
	}
}

func (k *furthestPoints) take(taken []int64, far []float64, p *[3][]float32) {
	for j := range far {
		far[j] = math.Inf(1)
	}
	last := 0
	for n := range taken {
		taken[n] = int64(last)
		next, top := 0, -1.0
		for j := range far {
			far[j] = min(far[j], k.distance(p, last, j)) // once NaN, always NaN
			if far[j] > top {
				next, top = j, far[j]
			}
		}
		last = next
	}
}

// distance orders as the metric does: of L2 it is the square.
func (k *furthestPoints) distance(p *[3][]float32, a, b int) float64 {
	x, y, z := float64(p[0][a])-float64(p[0][b]), float64(p[1][a])-float64(p[1][b]), float64(p[2][a])-float64(p[2][b])
	if k.metric == td.DistanceL1 {
		return math.Abs(x) + math.Abs(y) + math.Abs(z)
	}
	return squares(x, y, z)
}

func squares(x, y, z float64) float64 { return float64(x*x) + float64(y*y) + float64(z*z) } // never fused

// radiusSearch compares a point with a stretch of the centroids.
type radiusSearch struct {
	rowsOf
	sink              *sink
	centroids, points array
	square            float64 // of the radius
}

func bindRadiusSearch(op *Op) (Kernel, error) {
	r := float64(op.Params.(*td.RadiusSearch).Radius)
	return &radiusSearch{
		rowsOf: newRows(op.Operands[0].Dims, axisW), sink: newSink(op), square: r * r,
		centroids: op.Operands[1].array(), points: op.Operands[2].array(),
	}, nil
}

func (k *radiusSearch) Need() Need { return k.sink.need().Max(Need{Float: 3*chunk + 3}) }

func (k *radiusSearch) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		point := w.float[3*chunk:][:3]
		k.points.load(w, point, index{axisN: i[axisN], axisW: i[axisH]}, axisC)
		var p [3]float64
		var c [3][]float32
		for a := range c {
			p[a], c[a] = float64(point[a]), w.float[a*chunk:][:n]
			k.centroids.load(w, c[a], index{axisN: i[axisN], axisC: a, axisW: i[axisW]}, axisW)
		}
		v := c[0]
		for j := range v {
			x, y, z := p[0]-float64(c[0][j]), p[1]-float64(c[1][j]), p[2]-float64(c[2][j])
			v[j] = float32(truth(squares(x, y, z) <= k.square))
		}
		k.sink.put(w, v, i, k.axis)
	}
}
