package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// standardRows is a layer normalization of rows of fp16 numbers, all with the same
// gamma and beta, which are made floats once for many rows. The results lie side by
// side; the numbers of a row may lie apart, as after a convolution, whose places become
// rows.
type standardRows struct{ *layerNorm }

// rowsTogether is how many rows are one call at most: a stop takes effect between calls.
const rowsTogether = 64

// isStandard reports whether a normalization is one.
func isStandard(op *Op) bool {
	if op.Rules != nil || len(op.Epilogue) > 0 {
		return false
	}
	k := newLayerNorm(op, 4)
	axis := k.inner.axis
	for _, a := range []*array{&k.sink.out, &k.x} {
		if a.typ != tensor.Float16 || a.pass != 0 || a.interleave > 1 {
			return false
		}
	}
	if k.sink.out.strides[axis] != 2 {
		return false
	}
	for _, a := range []*array{k.gamma, k.beta} {
		for x := range td.NumAxes {
			if a != nil && k.outer.dims[x] > 1 && a.strides[x] != 0 {
				return false
			}
		}
	}
	return k.inner.length == k.count && vec.Standardizes(k.count)
}

func bindStandardRows(op *Op) (Kernel, error) { return standardRows{newLayerNorm(op, 4)}, nil }

func (k standardRows) Need() Need { return Need{Float: 2 * k.count, Decoded: 2 * k.count} }

func (k standardRows) Run(w *Scratch, lo, hi int) {
	gamma, beta := w.float[:k.count], w.float[k.count:][:k.count]
	fill(w, gamma, k.gamma, index{}, k.inner.axis, 1)
	fill(w, beta, k.beta, index{}, k.inner.axis, 0)
	dst, src := k.sink.out.memory(w), k.x.memory(w)
	at := k.outer.place(lo)
	apart := k.x.strides[k.inner.axis]
	for t := lo; t < hi; {
		if w.stop() {
			return
		}
		to, from := k.sink.out.at(&at), k.x.at(&at)
		rows := vec.Rows{N: 1}
		k.outer.next(&at)
		if apart == 2 { // rows as far from each other as the first two go together
			for ; t+rows.N < hi && rows.N < rowsTogether; rows.N++ {
				toNext, fromNext := k.sink.out.at(&at)-to, k.x.at(&at)-from
				if rows.N == 1 {
					rows.DstStep, rows.SrcStep = toNext, fromNext
				}
				if toNext != rows.N*rows.DstStep || fromNext != rows.N*rows.SrcStep || min(toNext, fromNext) < 0 {
					break
				}
				k.outer.next(&at)
			}
			vec.Standardize(dst[to:], src[from:], rows, gamma, beta, k.epsilon)
		} else {
			row := w.decoded[:2*k.count]
			gatherHalves(row, src, from, apart)
			vec.Standardize(dst[to:], row, rows, gamma, beta, k.epsilon)
		}
		t += rows.N
	}
}
