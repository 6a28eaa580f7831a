package strided

import "math"

// softmax takes a line along the axis at a time.
type softmax struct {
	sink  *sink
	x     array
	lines grid
	axis  int
	n     int

	settle bool // inf-inf is 0
}

func bindSoftmax(op *Op) (Kernel, error) {
	y := &op.Operands[0]
	axis := op.Params.Axis
	return &softmax{
		sink: newSink(op), x: op.Operands[1].array(),
		lines: newGrid(y.Dims, allAxes&^(1<<axis)), axis: axis, n: y.Dims[axis],
		settle: op.Rules != nil && op.Rules.Settle,
	}, nil
}

func (k *softmax) Tiles() (n, grain int) {
	if k.n == 0 {
		return 0, 1
	}
	return k.lines.count(), max(1, 1024/k.n)
}

func (k *softmax) Need() Need { return k.sink.need().Max(Need{Float: chunk, Double: chunk}) }

func (k *softmax) Run(w *Scratch, lo, hi int) {
	v := w.float[:chunk]
	for t := lo; t < hi; t++ {
		line := k.lines.place(t)
		top := float32(math.Inf(-1))
		for at := 0; at < k.n; at += chunk {
			for _, x := range k.load(w, v, line, at) {
				top = max(top, x)
			}
		}
		sum := 0.0
		for at := 0; at < k.n; at += chunk {
			for _, e := range k.powers(w, v, line, at, top) {
				sum += e
			}
		}
		for at := 0; at < k.n; at += chunk {
			e := w.double[:min(chunk, k.n)]
			if k.n > chunk { // else they are still there
				e = k.powers(w, v, line, at, top)
			}
			out := v[:len(e)]
			for j := range out {
				out[j] = k.sink.round(e[j] / sum)
			}
			i := line
			i[k.axis] = at
			k.sink.put(w, out, i, k.axis)
		}
	}
}

func (k *softmax) load(w *Scratch, v []float32, line index, at int) []float32 {
	v = v[:min(chunk, k.n-at)]
	line[k.axis] = at
	k.x.load(w, v, line, k.axis)
	return v
}

// powers returns exp(x-top) of a part of a line.
func (k *softmax) powers(w *Scratch, v []float32, line index, at int, top float32) []float64 {
	v = k.load(w, v, line, at)
	e := w.double[:len(v)]
	if k.settle && math.IsInf(float64(top), 0) {
		for j, x := range v {
			e[j] = math.Exp(float64(orZero(x-top, x, top)))
		}
		return e
	}
	for j, x := range v {
		e[j] = math.Exp(float64(x) - float64(top))
	}
	return e
}
