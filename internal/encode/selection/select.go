package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// selectLayer selects the tasks of a layer, if they are certain. A layer that moves nothing has none.
func selectLayer(l *anec.Layer, b *builder) ([]*units.Op, *diag.Reason) {
	if !kindRows[l.Kind()].depth {
		for _, v := range append(l.Reads(), l.Tops...) {
			if n := v.Type.Dims[anec.D]; n != 1 && v.Const == nil {
				return nil, about(v, diag.Decline(diag.NativeDepth, "has depth, and the tasks of the kind have none").Measure(1, n))
			}
		}
	}
	if chain := b.productChain(l); chain != nil && b.joinedAll(chain, l) {
		return b.productLayer(l, chain)
	}
	if parts := b.productParts(l); parts != nil && b.joinedAll(parts, l) {
		return b.partsLayer(l, parts)
	}
	if layers := b.headsOf(l); layers != nil && b.joinedAll(layers, l) {
		return b.attentionLayer(l, layers)
	}
	return b.attempt(func() ([]*units.Op, *diag.Reason) { return b.plain(l) })
}

// plain selects the tasks of a layer by itself.
func (b *builder) plain(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	row, ok := kindRows[l.Kind()]
	if !ok {
		return nil, otherKind(l)
	}
	return row.plain(b, l)
}

// otherKind declines a layer of which no recorded program has a task.
func otherKind(l *anec.Layer) *diag.Reason {
	return diag.Decline(diag.NativeKind, "no operation of the array or of the planar engine is known for %v", l.Kind())
}

// readOnce reports whether one layer alone reads a value, once.
func (b *builder) readOnce(v *anec.Value) bool { return len(v.Uses) == 1 && !b.graph.IsOutput(v) }

// join finds layers that the tasks of l compute along: a function of an operand, the flattening of a result.
func (b *builder) join(l *anec.Layer) {
	b.joinFlat(l)
	b.joinProducts(l)
	b.joinProductParts(l)
	b.joinAttention(l)
	p, ok := l.Params.(*anec.ElementWise)
	if !ok || len(l.Bottoms) != 2 || !units.CombinesPlanar(p.Type) {
		return
	}
	z := l.Bottoms[1]
	if z == nil || z.Def == nil || z.Type.Dims != l.Bottoms[0].Type.Dims || l.Bottoms[0].Const != nil {
		return
	}
	if b.joinWithProduct(l.Bottoms[0], z) {
		return
	}
	n, ok := z.Def.Params.(*anec.Neuron)
	if !ok || !z.Def.Epilogue.Empty() || !b.readOnce(z) || l.Bottoms[0] == z {
		return
	}
	if len(z.Def.Bottoms) > 1 && z.Def.Bottoms[1] != nil {
		return
	}
	d := z.Type.Dims
	itself := z.Def.Bottoms[0] == l.Bottoms[0] && d == anec.Dims{1, 1, d[anec.C], 1, 1} && 0x20*d[anec.C] < b.OnChip
	f, why := functionOf(&anec.Activation{Function: n.Type, A: n.A, B: n.B})
	if n.Type == td.FuncReLU || itself && why == nil && f.table != nil && f.epsilon == 0 {
		b.joined[z.Def] = true
	}
}
