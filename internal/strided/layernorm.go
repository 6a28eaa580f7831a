package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// layerNorm takes, at a time, all elements along the axes.
type layerNorm struct {
	sink        *sink
	x           array
	gamma, beta *array
	outer       grid
	inner       rowsOf
	count       int
	epsilon     float64
	stages      *stages // as a chip does it; nil: at once
}

func bindLayerNorm(op *Op) (Kernel, error) {
	k := newLayerNorm(op, 4)
	if k.stages != nil {
		k.x.pass &^= passNaN // they see to it
	}
	return k, nil
}

// newLayerNorm binds a normalization whose class has so many operands.
func newLayerNorm(op *Op, operands int) *layerNorm {
	axes, epsilon := normFields(op.Params)
	k := &layerNorm{sink: newSink(op), x: op.Operands[1].array(), epsilon: float64(epsilon)}
	arrays := append(k.sink.arrays(), &k.x)
	optional := func(i int) *array {
		if i >= min(len(op.Operands), operands) || !op.Operands[i].Present() {
			return nil
		}
		a := op.Operands[i].array()
		arrays = append(arrays, &a)
		return &a
	}
	k.gamma, k.beta = optional(2), optional(3)
	k.stages = newStages(op)
	space := op.Operands[0].Dims
	merge(&space, axes, arrays...)
	k.outer = newGrid(space, allAxes&^axes)
	inner := newGrid(space, axes)
	k.count = inner.count()
	row := td.NumAxes - 1
	for row > 0 && inner.dims[row] == 1 {
		row--
	}
	k.inner = newRows(inner.dims, row)
	return k
}

// normFields are the fields that normalizations along axes have.
func normFields(params td.Params) (axes td.Axes, epsilon float32) {
	switch p := params.(type) {
	case *td.LayerNorm:
		return p.Axes, p.Epsilon
	case *td.InstanceNorm:
		return p.Axes, p.Epsilon
	case *td.L2Norm:
		return p.Axes, p.Epsilon
	case *td.MinMaxNorm:
		return p.Axes, p.Epsilon
	}
	panic("bug: " + td.ClassOf(params).String() + " does not normalize along axes")
}

func (k *layerNorm) Tiles() (n, grain int) {
	if k.count == 0 {
		return 0, 1
	}
	return k.outer.count(), max(1, 1<<13/k.count)
}

func (k *layerNorm) Need() Need { return k.sink.need().Max(Need{Float: 3 * chunk}) }

func (k *layerNorm) Run(w *Scratch, lo, hi int) {
	rows, _ := k.inner.Tiles()
	axis := k.inner.axis
	for t := lo; t < hi; t++ {
		at := k.outer.place(t)
		if k.stages != nil {
			k.runStages(w, at, rows)
			continue
		}
		sum := 0.0
		for r := range rows {
			if w.stop() {
				break
			}
			sum += vec.Sum(k.load(w, at, r))
		}
		mean := sum / float64(k.count)
		sum = 0
		for r := range rows {
			if w.stop() {
				break
			}
			sum += vec.SumSquares(k.load(w, at, r), mean)
		}
		scale := 1 / math.Sqrt(sum/float64(k.count)+k.epsilon)
		for r := range rows {
			if w.stop() {
				break
			}
			v := k.load(w, at, r)
			i, _ := k.inner.tile(r)
			i = i.plus(at)
			gamma, beta := k.scales(w, i, len(v))
			vec.Normalize(v, gamma, beta, mean, scale, k.sink.first)
			k.sink.put(w, v, i, axis)
		}
	}
}

func (k *layerNorm) load(w *Scratch, at index, r int) []float32 {
	i, n := k.inner.tile(r)
	v := w.float[:n]
	k.x.load(w, v, i.plus(at), k.inner.axis)
	return v
}

// scales loads gamma and beta of a row, or what stands for them.
func (k *layerNorm) scales(w *Scratch, i index, n int) (gamma, beta []float32) {
	gamma, beta = w.float[chunk:][:n], w.float[2*chunk:][:n]
	fill(w, gamma, k.gamma, i, k.inner.axis, 1)
	fill(w, beta, k.beta, i, k.inner.axis, 0)
	return gamma, beta
}

// fill loads an array, or a value where there is none.
func fill(w *Scratch, dst []float32, a *array, i index, axis int, otherwise float32) {
	if a != nil {
		a.load(w, dst, i, axis)
		return
	}
	for j := range dst {
		dst[j] = otherwise
	}
}
