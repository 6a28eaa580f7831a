package estimate

import "github.com/espalier-ane/espalier/internal/anec"

var WhyAttention = "attention has no cost form: " + anec.KindSDPA.Info().Cost.None

// isPartOfAttention reports whether a layer is one of the products or the softmax of attention that is written out:
// Apple's compiler takes it for attention, as the pass fuseAttention does, and the cost model has no number for it.
//
//	product ─→ scale, mask, casts, views ─→ softmax ─→ casts, views ─→ product
func isPartOfAttention(l *anec.Layer) bool {
	switch l.Kind() {
	case anec.KindSoftmax:
		return leadsFromProduct(l) && leadsToProduct(l)
	case anec.KindMatMul:
		if before := through(l.Bottoms[0]); before != nil && before.Kind() == anec.KindSoftmax {
			return leadsFromProduct(before)
		}
		after := onlyReader(l.Top())
		return after != nil && after.Kind() == anec.KindSoftmax && leadsToProduct(after)
	}
	return false
}

// leadsFromProduct reports whether a softmax is of a product of two live matrices.
func leadsFromProduct(softmax *anec.Layer) bool {
	l := through(softmax.Bottoms[0])
	return l != nil && l.Kind() == anec.KindMatMul && l.Bottoms[0].Const == nil && l.Bottoms[1].Const == nil
}

// leadsToProduct reports whether the result of a softmax is multiplied with a live matrix.
func leadsToProduct(softmax *anec.Layer) bool {
	l := onlyReader(softmax.Top())
	return l != nil && l.Kind() == anec.KindMatMul && l.Bottoms[1].Const == nil
}

// standsBetween reports whether a layer is of the kinds that stand between the products and the softmax.
func standsBetween(l *anec.Layer) bool {
	switch l.Kind() {
	case anec.KindElementWise, anec.KindScaledElementWise, anec.KindGOC, anec.KindSelect, anec.KindTypeCast, anec.KindCopy,
		anec.KindReshape, anec.KindTranspose, anec.KindDropout, anec.KindAlias, anec.KindBroadcast:
		return true
	}
	return false
}

// attentionReach is how many layers may stand in between.
const attentionReach = 8

// through goes back over such layers, along whatever operand leads to a product or a softmax.
func through(v *anec.Value) *anec.Layer { return throughWithin(v, attentionReach) }

func throughWithin(v *anec.Value, reach int) *anec.Layer {
	l := v.Def
	if l == nil || reach == 0 {
		return nil
	}
	if l.Kind() == anec.KindMatMul || l.Kind() == anec.KindSoftmax {
		return l
	}
	if !standsBetween(l) {
		return nil
	}
	for _, b := range l.Bottoms {
		if b != nil && b.Const == nil {
			if found := throughWithin(b, reach-1); found != nil {
				return found
			}
		}
	}
	return nil
}

// onlyReader goes forward, as long as a value has one reader.
func onlyReader(v *anec.Value) *anec.Layer {
	for range attentionReach {
		if len(v.Uses) != 1 {
			return nil
		}
		l := v.Uses[0]
		if !standsBetween(l) {
			return l
		}
		v = l.Top()
	}
	return nil
}
