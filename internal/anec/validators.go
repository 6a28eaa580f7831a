package anec

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// A check is the validator of a kind.
type check func(l *Layer, t *hal.Target) *diag.Finding

// A Validator is one of the compiler's per-layer validators: it is exported as
// _ANECValidate<Name>Layer (KindInfo.Desc is the name).
type Validator struct {
	Name  string
	Kind  Kind
	check check
}

// validators are the 50 that the compiler exports: those of the 45 descriptors,
// then the five of layers that have none (guide 22, B).
var validators = []Validator{
	{"Conv", KindConv, validateConv},
	{"Pool", KindPooling, validatePool},
	{"Concat", KindConcat, matched(validateConcat)},
	{"ScaledElementWise", KindScaledElementWise, validateScaledElementWise},
	{"Neuron", KindNeuron, validateNeuron},
	{"GOC", KindGOC, validateGOC},
	{"DynamicGOC", KindDynamicGOC, validateDynamicGOC},
	{"Flatten", KindFlatten, validateFlatten},
	{"Unflatten", KindUnflatten, validateUnflatten},
	{"CrossCorrelation", KindCrossCorrelation, matched(validateCrossCorrelation)},
	{"InputView", KindInputView, matched(validateInputView)},
	{"MatrixMult", KindMatMul, validateMatMul},
	{"Reduction", KindReduction, validateReduction},
	{"Transpose", KindTranspose, matched(validateTranspose)},
	{"Reshape", KindReshape, matched(validateReshape)},
	{"Shape", KindShape, matched(validateShape)},
	{"Softmax", KindSoftmax, validateSoftmax},
	{"InstanceNorm", KindInstanceNorm, validateInstanceNorm},
	{"L2Norm", KindL2Norm, validateL2Norm},
	{"MinMaxNorm", KindMinMaxNorm, validateMinMaxNorm},
	{"LayerNorm", KindLayerNorm, validateLayerNorm},
	{"LRN", KindLRN, validateLRN},
	{"PixelShuffle", KindPixelShuffle, matched(validatePixelShuffle)},
	{"PixelUnshuffle", KindPixelUnshuffle, matched(validatePixelUnshuffle)},
	{"SpaceToBatch", KindSpaceToBatch, matched(validateSpaceToBatch)},
	{"BatchToSpace", KindBatchToSpace, matched(validateBatchToSpace)},
	{"SpaceToChannel", KindSpaceToChannel, matched(validateSpaceToChannel)},
	{"ChannelToSpace", KindChannelToSpace, matched(validateChannelToSpace)},
	{"Gather", KindGather, matched(validateGather)},
	{"AffineTransform", KindAffineTransform, matched(validateAffineTransform)},
	{"Resize", KindResize, matched(validateResize)},
	{"ResizeAs", KindResizeAs, matched(validateResizeAs)},
	{"Resample", KindResample, matched(validateResample)},
	{"Pad", KindPadding, matched(validatePad)},
	{"Tile", KindTile, matched(validateTile)},
	{"CropResize", KindCropResize, matched(validateCropResize)},
	{"DynamicSlice", KindDynamicSlice, matched(validateDynamicSlice)},
	{"Sort", KindSort, matched(validateSort)},
	{"TopK", KindTopK, matched(validateTopK)},
	{"NMS", KindNMS, matched(validateNMS)},
	{"Dropout", KindDropout, validateDropout},
	{"Random", KindRandom, validateRandom},
	{"Linear", KindLinear, validateLinear},
	{"RingBufferWriter", KindRingBufferWriter, matched(validateRingBufferWriter)},
	{"SDPA", KindSDPA, validateSDPA},
	{"ElementWise", KindElementWise, validateElementWise},
	{"ArgMinMax", KindArgMinMax, validateArgMinMax},
	{"GlobalArgMinMax", KindGlobalArgMinMax, validateGlobalArgMinMax},
	{"Broadcast", KindBroadcast, matched(validateBroadcast)},
	{"CrossProduct", KindCrossProduct, matched(validateCrossProduct)},
}

// unitChecks are those of unit classes for which no validator is exported: the
// compiler checks them where it parses or lowers them.
var unitChecks = []Validator{
	{"", KindQuant, validateQuant},
	{"", KindDeQuant, validateDeQuant},
	{"", KindBatchNorm, validateBatchNorm},
	{"", KindCostVolume, validateCostVolume},
	{"", KindFurthestPointSampling, validateFurthestPointSampling},
	{"", KindRadiusSearch, validateRadiusSearch},
	{"", KindRingBufferReader, validateRingBufferReader},
}

// checks finds a kind's validator.
var checks = func() (byKind [numKinds]check) {
	for _, table := range [][]Validator{validators, unitChecks} {
		for _, v := range table {
			byKind[v.Kind] = v.check
		}
	}
	return byKind
}()

// Validators returns the 50 exported validators.
func Validators() []Validator { return validators }
