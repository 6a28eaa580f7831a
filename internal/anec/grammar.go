package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// A pattern is what the compiler matches a unit against before its validator
// reads a field: how many bottoms there are (MatchParams), and what it says if it
// is not so (MatchStatus). Parameters that we hold as operands, a convolution's
// kernel for one, do not count: to the compiler they are part of the unit.
//
// Of the compiler's grammar the sources have the counts (guide B, 17, 22) and
// some of the texts. The rest is by the contract of the kind, and its text ours.
type pattern struct {
	kind     Kind
	min, max int    // bottoms; max -1: any number
	text     string // "": ours
	source   string
}

const onlyCount = "guide B, bottoms" + textOurs

// patterns has a row for each of the 50 validators.
var patterns = []pattern{
	{KindConv, 1, 1, "", onlyCount},
	{KindPooling, 1, 1, "Pool layer must have only one single input.", fromEnvelopes},
	{KindConcat, 2, -1, "Concat layer must have at least 2 inputs", fromGates},
	{KindScaledElementWise, 1, 2, "Scaled Elementwise must have 1 or 2 input", fromStrings},
	{KindNeuron, 1, 1, "", onlyCount},
	{KindGOC, 1, 1, "", "guide 26: one, plus scale and bias" + textOurs},
	{KindDynamicGOC, 1, 3, "", "the contract of the kind" + textOurs},
	{KindFlatten, 1, 1, "", "the contract of the kind" + textOurs},
	{KindUnflatten, 1, 1, "Unflatten layer can only have one bottom", fromDecompiled},
	{KindCrossCorrelation, 2, 2, "Input size for Cross Correlation layer must be 2", fromStrings},
	{KindInputView, 1, 1, "", "guide B, catalog" + textOurs},
	{KindMatMul, 2, 2, "Matrix mult. layer can only have two bottoms", "guide 22"},
	{KindReduction, 1, 1, "Reduction layer can only have one bottom", fromEnvelopes},
	{KindTranspose, 1, 1, "", onlyCount},
	{KindReshape, 1, 1, "", fromEnvelopes + textOurs},
	{KindShape, 1, 1, "", "the contract of the kind" + textOurs},
	{KindSoftmax, 1, 1, "Softmax layer must have only one single input.", fromDecompiled},
	{KindInstanceNorm, 1, 1, "", onlyCount},
	{KindL2Norm, 1, 1, "", "the contract of the kind" + textOurs},
	{KindMinMaxNorm, 1, 1, "", onlyCount},
	{KindLayerNorm, 1, 1, "", onlyCount},
	{KindLRN, 1, 1, "", onlyCount},
	{KindPixelShuffle, 1, 1, "", onlyCount},
	{KindPixelUnshuffle, 1, 1, "", onlyCount},
	{KindSpaceToBatch, 1, 1, "", onlyCount},
	{KindBatchToSpace, 1, 1, "", onlyCount},
	{KindSpaceToChannel, 1, 1, "SpaceToChannel layer must have only one input", fromStrings},
	{KindChannelToSpace, 1, 1, "", onlyCount},
	{KindGather, 2, 2, "", onlyCount},
	{KindAffineTransform, 2, 2, "", onlyCount},
	{KindResize, 1, 1, "", onlyCount},
	{KindResizeAs, 2, 2, "", "the contract of the kind" + textOurs},
	{KindResample, 2, 2, "", onlyCount},
	{KindPadding, 1, 1, "", onlyCount},
	{KindTile, 1, 1, "", "the contract of the kind" + textOurs},
	{KindCropResize, 2, 2, "", onlyCount},
	{KindDynamicSlice, 2, 2, "", "guide B, catalog: a start that is bound" + textOurs},
	{KindSort, 1, 1, "", onlyCount},
	{KindTopK, 1, 1, "", onlyCount},
	{KindNMS, 2, -1, "", onlyCount},
	{KindDropout, 1, 1, "", onlyCount},
	{KindRandom, 0, 0, "", onlyCount},
	{KindLinear, 1, 1, "Linear layer must have only one single input.", fromGates},
	{KindRingBufferWriter, 2, 3, "", "guide B: 2; the descriptor's live parameters: one more" + textOurs},
	{KindSDPA, 4, 5, "SDPA layer must have only 4 or 5(optional mask) inputs", fromGates + "; guide 22 and 26 have another string: 4 or 5 bottoms must be present for SDPA"},
	{KindElementWise, 1, 2, "", "the contract of the kind" + textOurs},
	{KindArgMinMax, 1, 1, "ArgMinMax layer must have one input", fromGates},
	{KindGlobalArgMinMax, 1, 1, "", onlyCount},
	{KindBroadcast, 1, 1, "", onlyCount},
	{KindCrossProduct, 2, 2, "", "guide B, catalog" + textOurs},
}

// patternOf finds the row of one of the 50.
func patternOf(k Kind) *pattern {
	for i := range patterns {
		if patterns[i].kind == k {
			return &patterns[i]
		}
	}
	panic(fmt.Sprintf("bug: no pattern for %v", k))
}

// matched is a validator that holds a layer to the pattern of its kind first:
// after that no bottom is missing.
func matched(c check) check {
	return func(l *Layer, t *hal.Target) *diag.Finding {
		if r := match(l); r != nil {
			return r
		}
		return c(l, t)
	}
}

func match(l *Layer) *diag.Finding {
	p := patternOf(l.Kind())
	n, whole := matchedBottoms(l)
	if whole && n >= p.min && (n <= p.max || p.max < 0) {
		return nil
	}
	limit := fmt.Sprint(p.min)
	switch {
	case p.max < 0:
		limit += " or more"
	case p.max > p.min:
		limit += fmt.Sprintf(" to %d", p.max)
	}
	text := p.text
	if text == "" {
		text = fmt.Sprintf("%v layer must have %s inputs", l.Kind(), limit)
	}
	return &diag.Finding{ID: diag.LayerBottoms, Text: text, Limit: limit, Found: fmt.Sprint(n), Remedy: "wire the operands of the kind", Source: p.source}
}

// matchedBottoms counts the bottoms that the compiler has as such too. It is
// false if there is a gap where there must be none.
func matchedBottoms(l *Layer) (n int, whole bool) {
	c := l.Params.Contract()
	for i, b := range l.Bottoms {
		row, _ := c.operand(i)
		switch {
		case folded(l.Kind(), row):
		case b != nil:
			n++
		case !row.Optional:
			return n, false
		}
	}
	return n, true
}

// folded reports whether an operand is a parameter of the compiler's unit.
func folded(k Kind, row Operand) bool { return row.Weight || row.Const && k == KindGOC }
