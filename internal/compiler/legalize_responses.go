package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// legalizeResponses takes local response normalization of the first channels apart: its class has windows about each. A
// window that reaches all of them from each, with what it divides by put right, is the same.
//
//	%y = LocalResponseNormalization(%x) Size=4 Alpha=a …                %x [1,1,6,8,8]
//
//	%f = InputView(%x) Axis=C Size=4
//	%n = LocalResponseNormalization(%f) Size=7 Alpha=a*7/4 Around=true …
//	%r = InputView(%x) Axis=C Offset=4 Size=2
//	%y = Concat(%n, %r) Axis=C
var legalizeResponses = rewriteKinds(splitResponses, anec.KindLRN)

func splitResponses(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	p, x := *l.Params.(*anec.LRN), l.Bottoms[0]
	if p.Around {
		return nil, nil
	}
	channels := x.Type.Dims[anec.C]
	n := min(p.Size, channels)
	part := func(from, size int) *anec.Value {
		if size == channels {
			return x
		}
		return b.Layer(l.Name, &anec.InputView{Axis: anec.C, Offset: from, Size: size, Step: 1}, x)
	}
	window := max(2*n-1, 1)
	p.Alpha = float32(float64(p.Alpha) * float64(window) / float64(p.Size))
	p.Size, p.Around = window, true
	y := b.Layer(l.Name, &p, part(0, n))
	if n < channels {
		y = b.Layer(l.Name, &anec.Concat{Axis: td.AxisC}, y, part(n, channels-n))
	}
	return y, nil
}
