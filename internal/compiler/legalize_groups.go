package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// legalizeGroups gives the groups of a normalization an axis of their own, the depth, which must be free.
//
//	%y = anec.layer_norm(%x) {axes = CHW, groups = 4}      %x [n,1,64,h,w]
//
//	%a = anec.reshape(%x) {dims = [n, 4, 16, h, w]}
//	%b = anec.layer_norm(%a) {axes = CHW}
//	%y = anec.reshape(%b) {dims = [n, 1, 64, h, w]}
var legalizeGroups = rewriteKinds(splitGroups, anec.KindLayerNorm)

func splitGroups(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	p, x := l.Params.(*anec.LayerNorm), l.Bottoms[0].Type.Dims
	if p.Groups == 1 {
		return nil, nil
	}
	if x[anec.D] != 1 {
		return nil, fmt.Errorf("%d groups of channels beside a depth of %d: there is no axis for them", p.Groups, x[anec.D])
	}
	grouped := func(v *anec.Value) *anec.Value {
		if v == nil {
			return nil
		}
		d := v.Type.Dims
		if d[anec.C] > 1 {
			d[anec.D], d[anec.C] = p.Groups, d[anec.C]/p.Groups
		}
		return b.Layer(l.Name, &anec.Reshape{Dims: d}, v)
	}
	bottoms := make([]*anec.Value, len(l.Bottoms))
	for i, v := range l.Bottoms {
		bottoms[i] = grouped(v)
	}
	norm := &anec.LayerNorm{Axes: p.Axes &^ td.AxesOf(anec.D), Epsilon: p.Epsilon, Groups: 1}
	return b.Layer(l.Name, &anec.Reshape{Dims: x}, b.Layer(l.Name, norm, bottoms...)), nil
}
