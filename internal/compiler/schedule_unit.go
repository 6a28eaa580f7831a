package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

var (
	onArray   = segment.Unit{Class: hal.MultiplyAccumulate, Engine: segment.MainEngine}
	onPlanar  = segment.Unit{Class: hal.Planar, Engine: segment.MainEngine}
	onTexture = segment.Unit{Class: hal.Planar, Engine: segment.TextureEngine}
)

// kindUnits is the table. Sources: h13 4.1 and 4.6 and oracles 3 for what H13's programs show (an activation alone and every
// copy is a bypass of the array; sums of tensors, reductions and normalizations are planar); seed compiler for softmax on
// the planar engine and the texture engine's samplers; the others by likeness.
var kindUnits = map[anec.Kind]segment.Unit{
	anec.KindConv:             onArray,
	anec.KindMatMul:           onArray,
	anec.KindLinear:           onArray,
	anec.KindCrossCorrelation: onArray,
	anec.KindSDPA:             onArray,
	anec.KindNeuron:           onArray,
	anec.KindNeuronCustom:     onArray,
	anec.KindCopy:             onArray,
	anec.KindTypeCast:         onArray,
	anec.KindQuant:            onArray,
	anec.KindDeQuant:          onArray,
	anec.KindReshape:          onArray,
	anec.KindTranspose:        onArray,
	anec.KindFlatten:          onArray,
	anec.KindUnflatten:        onArray,
	anec.KindInputView:        onArray,
	anec.KindBroadcast:        onArray,
	anec.KindTile:             onArray,
	anec.KindConcat:           onArray,
	anec.KindPixelShuffle:     onArray,
	anec.KindPixelUnshuffle:   onArray,
	anec.KindSpaceToBatch:     onArray,
	anec.KindBatchToSpace:     onArray,
	anec.KindSpaceToChannel:   onArray,
	anec.KindChannelToSpace:   onArray,
	anec.KindRingBufferWriter: onArray,
	anec.KindRingBufferReader: onArray,
	anec.KindDropout:          onArray,

	anec.KindElementWise:       onPlanar,
	anec.KindScaledElementWise: onPlanar,
	anec.KindSelect:            onPlanar,
	anec.KindGOC:               onPlanar,
	anec.KindDynamicGOC:        onPlanar,
	anec.KindBatchNorm:         onPlanar,
	anec.KindReduction:         onPlanar,
	anec.KindPooling:           onPlanar,
	anec.KindSoftmax:           onPlanar,
	anec.KindInstanceNorm:      onPlanar,
	anec.KindLayerNorm:         onPlanar,
	anec.KindL2Norm:            onPlanar,
	anec.KindMinMaxNorm:        onPlanar,
	anec.KindLRN:               onPlanar,
	anec.KindArgMinMax:         onPlanar,
	anec.KindGlobalArgMinMax:   onPlanar,
	anec.KindCrossProduct:      onPlanar,

	anec.KindResize:          onTexture,
	anec.KindResizeAs:        onTexture,
	anec.KindResample:        onTexture,
	anec.KindAffineTransform: onTexture,
	anec.KindCropResize:      onTexture,
	anec.KindGather:          onTexture,
	anec.KindPadding:         onTexture,
}

// keepsOnChip reports whether the target's tasks share on-chip memory, which its schedule then goes by.
func keepsOnChip(s *segment.Segment) bool {
	return s.Target != nil && s.Target.Sizes.OnChip > 0 && s.Target.Residency.Margin > 0
}
