package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
)

// A kindRow is what is known of a kind of layers that has tasks.
type kindRow struct {
	depth bool // its tasks take depth, as another batch or as an axis like any other
	copy  bool // it is a view, or is packed as weights: it has tasks only where its elements have to be copied
	plain func(*builder, *anec.Layer) ([]*units.Op, *diag.Reason)
}

// kindRows has a row for each kind. It is filled in when the program starts: some kinds are made of tasks of others, which
// stand here, too.
var kindRows map[anec.Kind]kindRow

func init() {
	type ops = []*units.Op
	type why = *diag.Reason
	kindRows = map[anec.Kind]kindRow{
		anec.KindElementWise:       {depth: true, plain: with((*builder).elementWise)},
		anec.KindScaledElementWise: {depth: true, plain: with((*builder).scaledElementWise)},
		anec.KindNeuron:            {depth: true, plain: with((*builder).neuronLayer)},
		anec.KindTypeCast:          {depth: true, plain: (*builder).cast},
		anec.KindGOC:               {depth: true, plain: with((*builder).gainOffset)},
		anec.KindSelect:            {depth: true, plain: (*builder).selection},
		anec.KindCopy:              {depth: true, plain: (*builder).copyLayer},

		anec.KindPooling:      {depth: true, plain: with((*builder).anyPooling)},
		anec.KindReduction:    {depth: true, plain: with((*builder).reduction)},
		anec.KindSoftmax:      {depth: true, plain: with((*builder).softmax)},
		anec.KindLayerNorm:    {depth: true, plain: with((*builder).layerNorm)},
		anec.KindInstanceNorm: {depth: true, plain: with((*builder).instanceNorm)},
		anec.KindL2Norm:       {depth: true, plain: with((*builder).l2Norm)},

		anec.KindConv:   {plain: with((*builder).anyConv)},
		anec.KindMatMul: {plain: with((*builder).matMul)},
		anec.KindLinear: {plain: (*builder).linear},
		anec.KindSDPA:   {plain: with((*builder).attention)},

		anec.KindConcat:  {depth: true, plain: with((*builder).concat)},
		anec.KindPadding: {depth: true, plain: with((*builder).padding)},
		anec.KindTile:    {depth: true, plain: with((*builder).tile)},
		anec.KindGather:  {depth: true, plain: (*builder).gathered},

		anec.KindPixelShuffle: {plain: with(func(b *builder, l *anec.Layer, p *anec.PixelShuffle) (ops, why) {
			return b.rearrange(l, p.Factors, anec.C, true, true)
		})},
		anec.KindPixelUnshuffle: {plain: with(func(b *builder, l *anec.Layer, p *anec.PixelUnshuffle) (ops, why) {
			return b.rearrange(l, p.Factors, anec.C, false, true)
		})},
		anec.KindChannelToSpace: {plain: with(func(b *builder, l *anec.Layer, p *anec.ChannelToSpace) (ops, why) {
			return b.rearrange(l, p.Factors, anec.C, true, false)
		})},
		anec.KindSpaceToChannel: {plain: with(func(b *builder, l *anec.Layer, p *anec.SpaceToChannel) (ops, why) {
			return b.rearrange(l, p.Factors, anec.C, false, false)
		})},
		anec.KindBatchToSpace: {plain: with(func(b *builder, l *anec.Layer, p *anec.BatchToSpace) (ops, why) {
			return b.rearrange(l, p.Factors, anec.N, true, false)
		})},
		anec.KindSpaceToBatch: {plain: with(func(b *builder, l *anec.Layer, p *anec.SpaceToBatch) (ops, why) {
			return b.rearrange(l, p.Factors, anec.N, false, false)
		})},

		anec.KindReshape:   {depth: true, copy: true, plain: (*builder).view},
		anec.KindTranspose: {depth: true, copy: true, plain: (*builder).view},
		anec.KindInputView: {depth: true, copy: true, plain: (*builder).view},
		anec.KindBroadcast: {depth: true, copy: true, plain: (*builder).view},
		anec.KindDeQuant:   {copy: true, plain: func(_ *builder, l *anec.Layer) (ops, why) { return decodedWeights(l) }},
	}
}

// with gives a function the parameters of its kind.
func with[P anec.Params](f func(*builder, *anec.Layer, P) ([]*units.Op, *diag.Reason)) func(*builder, *anec.Layer) ([]*units.Op, *diag.Reason) {
	return func(b *builder, l *anec.Layer) ([]*units.Op, *diag.Reason) { return f(b, l, l.Params.(P)) }
}

// anyPooling selects the tasks of a pooling: as tasks have it, or by the taps of its windows.
func (b *builder) anyPooling(l *anec.Layer, p *anec.Pooling) ([]*units.Op, *diag.Reason) {
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.pooling(l, p) })
	if why == nil {
		return ops, nil
	}
	ops, windows := b.windows(l, p)
	if windows != nil {
		return nil, neither(why, windows)
	}
	return ops, nil
}

// anyConv selects the tasks of a convolution, whose weights may be live.
func (b *builder) anyConv(l *anec.Layer, p *anec.Conv) ([]*units.Op, *diag.Reason) {
	if !isWeights(l.Bottoms[1]) {
		return b.liveConv(l, p)
	}
	return b.conv(l, p)
}
