package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// softmax takes a line along the axis at a time.
type softmax struct {
	sink  *sink
	x     array
	lines grid
	axis  int
	n     int

	toZero bool    // inf-inf is 0
	tables *tables // by stages, as a chip does it; nil: at once
	flush  bool    // subnormals are 0 to the sum
}

func bindSoftmax(op *Op) (Kernel, error) {
	y := &op.Operands[0]
	axis := int(op.Params.(*td.Softmax).Axis)
	k := &softmax{
		sink: newSink(op), x: op.Operands[1].array(),
		lines: newGrid(y.Dims, allAxes&^(1<<axis)), axis: axis, n: y.Dims[axis],
		toZero: op.Rules != nil && op.Rules.IndeterminateToZero,
	}
	if r := op.Rules; r != nil && r.tables != nil && r.RoundStages {
		// Along W the planar engine adds up and divides, along others the array.
		k.tables, k.flush = r.tables, r.FlushArraySubnormals && axis != axisW
	}
	return k, nil
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
			if w.stop() {
				break
			}
			top = max(top, vec.MaxOf(k.load(w, v, line, at)))
		}
		if k.tables == nil && !(k.toZero && math.IsInf(float64(top), 0)) {
			k.divide(w, v, line, float64(top))
			continue
		}
		sum := 0.0
		for at := 0; at < k.n; at += chunk {
			if w.stop() {
				break
			}
			sum = k.add(sum, k.powers(w, v, line, at, top))
		}
		inverse := k.inverse(sum)
		for at := 0; at < k.n; at += chunk {
			if w.stop() {
				break
			}
			e := w.double[:min(chunk, k.n)]
			if k.n > chunk { // else they are still there
				e = k.powers(w, v, line, at, top)
			}
			out := v[:len(e)]
			for j := range out {
				if k.tables != nil {
					out[j] = float32(e[j]) * inverse
				} else {
					out[j] = k.sink.round(e[j] / sum)
				}
			}
			i := line
			i[k.axis] = at
			k.sink.put(w, out, i, k.axis)
		}
	}
}

// divide computes a line with plain arithmetic.
func (k *softmax) divide(w *Scratch, v []float32, line index, top float64) {
	sum := 0.0
	for at := 0; at < k.n && !w.stop(); at += chunk {
		sum += vec.Powers(k.load(w, v, line, at), top)
	}
	for at := 0; at < k.n && !w.stop(); at += chunk {
		out := v[:min(chunk, k.n-at)]
		if k.n > chunk { // else the powers are still there
			vec.Powers(k.load(w, v, line, at), top)
		}
		vec.Scale(out, 1/sum, k.sink.first)
		i := line
		i[k.axis] = at
		k.sink.put(w, out, i, k.axis)
	}
}

func (k *softmax) load(w *Scratch, v []float32, line index, at int) []float32 {
	v = v[:min(chunk, k.n-at)]
	line[k.axis] = at
	k.x.load(w, v, line, k.axis)
	return v
}

// log2e is log2 e in fp16, by which chips make powers of e of powers of 2.
const log2e = 0x1.714p0

// add adds powers to a sum.
func (k *softmax) add(sum float64, powers []float64) float64 {
	if k.tables == nil {
		for _, e := range powers {
			sum += e
		}
		return sum
	}
	s := float32(sum)
	for _, e := range powers {
		if x := float32(e); !k.flush || x >= half.LeastNormal {
			s += x
		}
	}
	return float64(s)
}

// inverse is 1/sum as an fp16 number, where a chip multiplies with it.
func (k *softmax) inverse(sum float64) float32 {
	switch {
	case k.tables == nil:
		return 0
	case k.axis == axisW:
		return half.Round(float32(1 / sum))
	}
	return half.Round(k.tables.inverse(float32(sum)))
}

// powers returns exp(x-top) of a part of a line.
func (k *softmax) powers(w *Scratch, v []float32, line index, at int, top float32) []float64 {
	v = k.load(w, v, line, at)
	e := w.double[:len(v)]
	if k.tables != nil {
		for j, x := range v {
			d := x - top
			if k.toZero {
				d = orZero(d, x, top)
			}
			e[j] = float64(half.Round(k.tables.exp2(half.Round(d * log2e))))
		}
		return e
	}
	if k.toZero && math.IsInf(float64(top), 0) {
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
