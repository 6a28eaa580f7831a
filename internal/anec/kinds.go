package anec

import (
	"fmt"
	"reflect"

	"github.com/espalier-ane/espalier/td"
)

// Kind is a kind of layer.
type Kind uint8

// The kinds. docs/layers.md has them in this order.
const (
	KindConv Kind = iota + 1
	KindPooling
	KindConcat
	KindScaledElementWise
	KindNeuron
	KindGOC
	KindDynamicGOC
	KindFlatten
	KindUnflatten
	KindCrossCorrelation
	KindInputView
	KindMatMul
	KindReduction
	KindTranspose
	KindReshape
	KindShape
	KindSoftmax
	KindInstanceNorm
	KindL2Norm
	KindMinMaxNorm
	KindLayerNorm
	KindLRN
	KindPixelShuffle
	KindPixelUnshuffle
	KindSpaceToBatch
	KindBatchToSpace
	KindSpaceToChannel
	KindChannelToSpace
	KindGather
	KindAffineTransform
	KindResize
	KindResizeAs
	KindResample
	KindPadding
	KindTile
	KindCropResize
	KindDynamicSlice
	KindSort
	KindTopK
	KindNMS
	KindDropout
	KindRandom
	KindLinear
	KindRingBufferWriter
	KindSDPA

	KindElementWise
	KindArgMinMax
	KindGlobalArgMinMax
	KindBroadcast
	KindCrossProduct

	KindNeuronCustom
	KindKernelRasterizer
	KindCostVolume
	KindFurthestPointSampling
	KindRadiusSearch
	KindPlaneReader
	KindPlaneWriter
	KindMatrixDecomposition
	KindAlias
	KindQuant
	KindDeQuant
	KindRingBufferReader
	KindBatchNorm

	KindCopy
	KindTypeCast
	KindSelect

	numKinds = iota + 1
)

// Standing is what Apple's compiler has of a kind.
type Standing uint8

// The standings.
const (
	Descriptor Standing = iota + 1 // a descriptor and a validator: one of the 45
	Computed                       // a validator without a descriptor: one of the 5
	UnitOnly                       // a unit class, in netplists or inside the compiler
	Ours                           // no class of its own: a micro-operation, or for `virtual` alone
)

func (s Standing) String() string {
	return [...]string{"", "descriptor", "computed", "unit", "ours"}[s]
}

// A KindInfo is the row of a kind: all that is asked of the kind and not of one layer. It stands beside the fields
// and the shape rule.
type KindInfo struct {
	Kind Kind

	// Name is what the kind is called: Apple's netplist Type where it has one. Dialect is what its layers are called in text.
	Name     string
	Dialect  Dialect
	Standing Standing

	// Desc is the name in ANEC<Desc>LayerDesc and _ANECValidate<Desc>Layer, of the kinds that have a validator there.
	Desc  string
	Class td.Class

	// Sources of the row: see sources. Unsure says what of the kind none of them
	// has and was inferred.
	Sources, Unsure string

	// New makes the fields with the values that they have if nothing is said.
	New      func() Params
	Contract Contract

	// Example is a plain layer of the kind, with the shapes that images or sequences have.
	Example Example

	// Pattern is what Apple's compiler holds the bottoms to; of a kind without a validator there, NoValidator says why it
	// has none, and what holds it to a target instead.
	Pattern     Pattern
	NoValidator string

	// Check is the validator: what a target asks of a layer. nil: nothing.
	Check Check

	// Codegen is what is known of the code that comes of layers which pass it.
	Codegen []CodegenVerdict

	Unit Unit

	// Epilogue is what can follow in the task. TextureSlot: the kind can itself stand in the texture slot of another's
	// epilogue. Broadcasts: the class takes sources with extent 1 along any axis of the result, also where all of them
	// have, so an epilogue that broadcasts costs nothing.
	Epilogue                EpilogueForm
	TextureSlot, Broadcasts Answer

	// Integers: of integers it computes in integers also where the result is of another type, as comparisons do. Steps
	// behind it would make fp32 of that, which does not hold all integers.
	Integers Answer

	// Hidden: a layer that is reached by a network description (guide 26.1 and B), and that chips run as a segment of its own.
	// The classes of table 26.1 are, but for those that fold into others or move nothing: gain and offset with constants,
	// views, concatenations, tiles.
	Hidden Answer

	View    View
	InPlace InPlace
	Rows    Rows

	// AtLoad: a layer of constants alone gives the same in every dispatch, and can run once, when the program is loaded.
	AtLoad func(Params) bool

	Cost Cost

	// Refused is why no target runs layers of the kind, ours included: no source says what they compute, or no engine takes
	// them. Empty: one does.
	Refused string

	// NoTask is why layers of the kind become no tasks as they are: views, parts that are written in place, what a pass
	// writes as other layers ("pass <name> …"), and what nobody can compute. Empty: they do.
	NoTask string
}

// sources are what the rows cite.
var sources = map[string]string{
	"export": "the symbols ANEC…LayerDescInitialize that ANECompiler exports on an H16 machine, as listed in github.com/AnthonyDavidAdams/agx-probe, ane/ane-layer-types.txt (44 names; the guide's 45 have SDPA too)",
	"desc":   "the functions ANECDescToUnitInfo<…> of ANECompiler, which read a descriptor's fields, from a public decompilation",
	"unit":   "the netplists that github.com/sbryngelson/ANEForge writes and runs on a chip, beside numpy (aneforge/_bridges)",
	"plist":  "the real netplists of the shared data",
	"B":      "guide, appendix B: hidden-layer catalog and validator gates",
	"C":      "guide, appendix C.1: enums, unit classes, micro-operations",
	"22":     "guide, chapter 22: lowering, the five validators without descriptor, the epilogue",
	"26":     "guide, chapter 26: native layer classes",
	"mil":    "the meaning of MIL operations that lower to it",
}

// SourceTitle is what a word of KindInfo.Sources stands for.
func SourceTitle(word string) string { return sources[word] }

// kindTable has the row of each kind. Functions in the rows ask a layer for its row, not the table.
var kindTable = [numKinds]*KindInfo{
	KindConv:              &convInfo,
	KindPooling:           &poolingInfo,
	KindConcat:            &concatInfo,
	KindScaledElementWise: &scaledElementWiseInfo,
	KindNeuron:            &neuronInfo,
	KindGOC:               &gocInfo,
	KindDynamicGOC:        &dynamicGOCInfo,
	KindFlatten:           &flattenInfo,
	KindUnflatten:         &unflattenInfo,
	KindCrossCorrelation:  &crossCorrelationInfo,
	KindInputView:         &inputViewInfo,
	KindMatMul:            &matMulInfo,
	KindReduction:         &reductionInfo,
	KindTranspose:         &transposeInfo,
	KindReshape:           &reshapeInfo,
	KindShape:             &shapeInfo,
	KindSoftmax:           &softmaxInfo,
	KindInstanceNorm:      &instanceNormInfo,
	KindL2Norm:            &l2NormInfo,
	KindMinMaxNorm:        &minMaxNormInfo,
	KindLayerNorm:         &layerNormInfo,
	KindLRN:               &lrnInfo,
	KindPixelShuffle:      &pixelShuffleInfo,
	KindPixelUnshuffle:    &pixelUnshuffleInfo,
	KindSpaceToBatch:      &spaceToBatchInfo,
	KindBatchToSpace:      &batchToSpaceInfo,
	KindSpaceToChannel:    &spaceToChannelInfo,
	KindChannelToSpace:    &channelToSpaceInfo,
	KindGather:            &gatherInfo,
	KindAffineTransform:   &affineTransformInfo,
	KindResize:            &resizeInfo,
	KindResizeAs:          &resizeAsInfo,
	KindResample:          &resampleInfo,
	KindPadding:           &paddingInfo,
	KindTile:              &tileInfo,
	KindCropResize:        &cropResizeInfo,
	KindDynamicSlice:      &dynamicSliceInfo,
	KindSort:              &sortInfo,
	KindTopK:              &topKInfo,
	KindNMS:               &nmsInfo,
	KindDropout:           &dropoutInfo,
	KindRandom:            &randomInfo,
	KindLinear:            &linearInfo,
	KindRingBufferWriter:  &ringBufferWriterInfo,
	KindSDPA:              &sdpaInfo,

	KindElementWise:     &elementWiseInfo,
	KindArgMinMax:       &argMinMaxInfo,
	KindGlobalArgMinMax: &globalArgMinMaxInfo,
	KindBroadcast:       &broadcastInfo,
	KindCrossProduct:    &crossProductInfo,

	KindNeuronCustom:          &neuronCustomInfo,
	KindKernelRasterizer:      &kernelRasterizerInfo,
	KindCostVolume:            &costVolumeInfo,
	KindFurthestPointSampling: &furthestPointSamplingInfo,
	KindRadiusSearch:          &radiusSearchInfo,
	KindPlaneReader:           &planeReaderInfo,
	KindPlaneWriter:           &planeWriterInfo,
	KindMatrixDecomposition:   &matrixDecompositionInfo,
	KindAlias:                 &aliasInfo,
	KindQuant:                 &quantInfo,
	KindDeQuant:               &deQuantInfo,
	KindRingBufferReader:      &ringBufferReaderInfo,
	KindBatchNorm:             &batchNormInfo,

	KindCopy:     &copyInfo,
	KindTypeCast: &typeCastInfo,
	KindSelect:   &selectInfo,
}

var defaultSampling = Sampling{Padding: td.PadBackground}

// Valid reports whether k is a row of the table.
func (k Kind) Valid() bool { return k > 0 && k < numKinds }

func (k Kind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindTable[k].Name
}

// Info returns the row of the kind. It is shared: do not write to it.
func (k Kind) Info() *KindInfo { return kindTable[k] }

// Kinds returns all kinds in the order of the table.
func Kinds() []Kind {
	kinds := make([]Kind, 0, numKinds-1)
	for k := Kind(1); k < numKinds; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// KindOf finds a kind by its name.
func KindOf(name string) (Kind, bool) {
	for k := Kind(1); k < numKinds; k++ {
		if kindTable[k].Name == name {
			return k, true
		}
	}
	return 0, false
}

// NewParams returns the fields of a kind with the values that they have if
// nothing is said. It is the caller's.
func NewParams(k Kind) Params { return kindTable[k].New() }

// cloneParams returns a copy of the fields.
func cloneParams(p Params) Params {
	if p == nil {
		return nil
	}
	c := reflect.New(reflect.TypeOf(p).Elem())
	c.Elem().Set(reflect.ValueOf(p).Elem())
	return c.Interface().(Params)
}
