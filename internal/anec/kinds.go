package anec

import (
	"fmt"
	"reflect"

	"github.com/espalier-ane/espalier/td"
)

// Kind is a kind of layer.
type Kind uint8

// The kinds, in the order of the table.
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

// A KindInfo is a row of the table.
type KindInfo struct {
	Kind Kind

	// Name is the kind in text: Apple's netplist Type where it has one.
	Name     string
	Standing Standing

	// Desc is the name in ANEC<Desc>LayerDesc and _ANECValidate<Desc>Layer.
	Desc  string
	Class td.Class

	// Sources of the row: see sources. Unsure says what of the kind none of them
	// has and was inferred.
	Sources, Unsure string

	new func() Params
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

// kindTable has a row for each kind.
var kindTable = [numKinds]KindInfo{
	KindConv:              row("Conv", Descriptor, "Conv", td.ClassConv, "export plist unit 22 B", "", func() Params { return &Conv{Window: UnitWindow, Groups: 1, PaddingMode: td.PadZero} }),
	KindPooling:           row("Pooling", Descriptor, "Pool", td.ClassPooling, "export desc unit C", "that the channel kinds take all channels", func() Params { return &Pooling{Window: UnitWindow, PaddingMode: td.PadZero} }),
	KindConcat:            row("Concat", Descriptor, "Concat", td.ClassConcat, "export plist unit B", "", func() Params { return &Concat{} }),
	KindScaledElementWise: row("ScaledElementWise", Descriptor, "ScaledElementWise", td.ClassScaledElementWise, "export desc plist B C", "three further numbers of the descriptor", func() Params { return &ScaledElementWise{Scale: 1} }),
	KindNeuron:            row("Neuron", Descriptor, "Neuron", td.ClassNeuron, "export desc plist unit C", "the keys of two of the seven constants", func() Params { return &Neuron{} }),
	KindGOC:               row("GOC", Descriptor, "GOC", td.ClassGOC, "export plist unit 22", "", func() Params { return &GOC{Scale: 1} }),
	KindDynamicGOC:        row("DynamicGOC", Descriptor, "DynamicGOC", td.ClassDynamicGOC, "export desc unit 26", "the descriptor's second flag", func() Params { return &DynamicGOC{} }),
	KindFlatten:           row("Flatten", Descriptor, "Flatten", td.ClassFlatten, "export desc unit B C", "that the elements go along C", func() Params { return &Flatten{Order: FlattenNCHW} }),
	KindUnflatten:         row("Unflatten", Descriptor, "Unflatten", td.ClassUnflatten, "export desc C", "which axes its three numbers are for; its keys", func() Params { return &Unflatten{Order: FlattenNCHW} }),
	KindCrossCorrelation:  row("CrossCorrelation", Descriptor, "CrossCorrelation", td.ClassCrossCorrelation, "export desc unit B", "the order of a template with several channels", func() Params { return &CrossCorrelation{Groups: 1, OutChannels: 1} }),
	KindInputView:         row("InputView", Descriptor, "InputView", td.ClassInputView, "export desc plist B", "", func() Params { return &InputView{Step: 1} }),
	KindMatMul:            row("MatrixMultiplication", Descriptor, "MatrixMult", td.ClassMatrixMultiplication, "export desc unit 22 26", "its keys", func() Params { return &MatMul{} }),
	KindReduction:         row("Reduction", Descriptor, "Reduction", td.ClassReduction, "export desc unit B C", "the key of the post-operation", func() Params { return &Reduction{} }),
	KindTranspose:         row("Transpose", Descriptor, "Transpose", td.ClassTranspose, "export desc B", "its key", func() Params { return &Transpose{Perm: Identity} }),
	KindReshape:           row("Reshape", Descriptor, "Reshape", td.ClassReshape, "export desc plist unit", "", func() Params { return &Reshape{} }),
	KindShape:             row("Shape", Descriptor, "Shape", td.ClassShape, "export C", "its fields and the layout of its result", func() Params { return &Shape{} }),
	KindSoftmax:           row("Softmax", Descriptor, "Softmax", td.ClassSoftmax, "export desc unit B", "", func() Params { return &Softmax{} }),
	KindInstanceNorm:      row("InstanceNormalization", Descriptor, "InstanceNorm", td.ClassInstanceNormalization, "export desc B", "its keys; gamma and beta as operands", func() Params { return &InstanceNorm{} }),
	KindL2Norm:            row("L2Normalization", Descriptor, "L2Norm", td.ClassL2Normalization, "export desc", "its keys; an epsilon", func() Params { return &L2Norm{} }),
	KindMinMaxNorm:        row("MinMaxNormalization", Descriptor, "MinMaxNorm", td.ClassMinMaxNormalization, "export desc unit B", "", func() Params { return &MinMaxNorm{Epsilon: 1e-12} }),
	KindLayerNorm:         row("LayerNormalization", Descriptor, "LayerNorm", td.ClassLayerNormalization, "export desc B 26", "its keys", func() Params { return &LayerNorm{Groups: 1} }),
	KindLRN:               row("LocalResponseNormalization", Descriptor, "LRN", td.ClassLocalResponseNormalization, "export desc unit B", "", func() Params { return &LRN{Size: 1, K: 1} }),
	KindPixelShuffle:      row("PixelShuffle", Descriptor, "PixelShuffle", td.ClassPixelShuffle, "export desc unit B", "", func() Params { return &PixelShuffle{UnitFactors} }),
	KindPixelUnshuffle:    row("PixelUnshuffle", Descriptor, "PixelUnshuffle", td.ClassPixelUnshuffle, "export desc unit B", "", func() Params { return &PixelUnshuffle{UnitFactors} }),
	KindSpaceToBatch:      row("SpaceToBatch", Descriptor, "SpaceToBatch", td.ClassSpaceToBatch, "export desc unit B", "the order with a batch of more than one", func() Params { return &SpaceToBatch{UnitFactors} }),
	KindBatchToSpace:      row("BatchToSpace", Descriptor, "BatchToSpace", td.ClassBatchToSpace, "export desc unit B", "the order with a batch of more than one", func() Params { return &BatchToSpace{UnitFactors} }),
	KindSpaceToChannel:    row("SpaceToChannel", Descriptor, "SpaceToChannel", td.ClassSpaceToChannel, "export desc unit B", "", func() Params { return &SpaceToChannel{UnitFactors} }),
	KindChannelToSpace:    row("ChannelToSpace", Descriptor, "ChannelToSpace", td.ClassChannelToSpace, "export desc unit B", "", func() Params { return &ChannelToSpace{UnitFactors} }),
	KindGather:            row("Gather", Descriptor, "Gather", td.ClassGather, "export desc unit B", "the extents with several axes", func() Params { return &Gather{} }),
	KindAffineTransform:   row("AffineTransform", Descriptor, "AffineTransform", td.ClassAffineTransform, "export desc B mil", "the layout of the matrix; its keys", func() Params { return &AffineTransform{Sampling: defaultSampling} }),
	KindResize:            row("Resize", Descriptor, "Resize", td.ClassResize, "export desc B C", "its keys", func() Params { return &Resize{Grid: td.GridDefault} }),
	KindResizeAs:          row("ResizeAs", Descriptor, "ResizeAs", td.ClassResizeAs, "export C", "its fields, taken from Resize; the second operand", func() Params { return &ResizeAs{Grid: td.GridDefault} }),
	KindResample:          row("Resample", Descriptor, "Resample", td.ClassResample, "export desc B", "which coordinate comes first; its keys", func() Params { return &Resample{Sampling: defaultSampling} }),
	KindPadding:           row("Padding", Descriptor, "Pad", td.ClassPadding, "export desc B C", "its keys", func() Params { return &Padding{Mode: td.PadZero} }),
	KindTile:              row("Tile", Descriptor, "Tile", td.ClassTile, "export desc", "its keys", func() Params { return &Tile{Reps: Dims{1, 1, 1, 1, 1}} }),
	KindCropResize: row("CropResize", Descriptor, "CropResize", td.ClassCropResize, "export desc B mil", "the layout of the boxes; its keys", func() Params {
		return &CropResize{Sampling: defaultSampling, Grid: td.GridDefault, Boxes: td.BoxCornersHeightFirst, Scale: 1}
	}),
	KindDynamicSlice:     row("DynamicSlice", Descriptor, "DynamicSlice", td.ClassDynamicSlice, "export desc unit B", "", func() Params { return &DynamicSlice{Padding: td.PadBackground} }),
	KindSort:             row("Sort", Descriptor, "Sort", td.ClassSort, "export desc unit B C", "", func() Params { return &Sort{Direction: td.Ascending} }),
	KindTopK:             row("TopK", Descriptor, "TopK", td.ClassTopK, "export desc unit B C", "", func() Params { return &TopK{Type: td.Max} }),
	KindNMS:              row("NMS", Descriptor, "NMS", td.ClassNMS, "export desc B mil", "which number is which; its keys; its tops", func() Params { return &NMS{} }),
	KindDropout:          row("Dropout", Descriptor, "Dropout", td.ClassDropout, "export desc unit B", "", func() Params { return &Dropout{} }),
	KindRandom:           row("RandomGenerator", Descriptor, "Random", td.ClassRandomGenerator, "export desc B", "its keys", func() Params { return &Random{High: 1} }),
	KindLinear:           row("Linear", Descriptor, "Linear", td.ClassLinear, "export desc B", "its key", func() Params { return &Linear{Axis: W} }),
	KindRingBufferWriter: row("RingBufferWriter", Descriptor, "RingBufferWriter", td.ClassRingBufferWriter, "export desc B", "its keys; offsets as an operand", func() Params { return &RingBufferWriter{} }),
	KindSDPA:             row("SDPA", Descriptor, "SDPA", td.ClassSDPA, "desc 22 26 B", "", func() Params { return &SDPA{} }),

	KindElementWise:     row("ElementWise", Computed, "ElementWise", td.ClassElementWise, "22 desc unit C", "", func() Params { return &ElementWise{} }),
	KindArgMinMax:       row("ArgMinMax", Computed, "ArgMinMax", td.ClassArgMinMax, "22 desc unit B C", "a window smaller than x", func() Params { return &ArgMinMax{Window: UnitWindow} }),
	KindGlobalArgMinMax: row("GlobalArgMinMax", Computed, "GlobalArgMinMax", td.ClassGlobalArgMinMax, "22 desc unit B", "", func() Params { return &GlobalArgMinMax{Type: td.Max} }),
	KindBroadcast:       row("Broadcast", Computed, "Broadcast", td.ClassBroadcast, "22 desc plist B", "", func() Params { return &Broadcast{} }),
	KindCrossProduct:    row("CrossProduct", Computed, "CrossProduct", td.ClassCrossProduct, "22 unit B", "", func() Params { return &CrossProduct{} }),

	KindNeuronCustom:          row("NeuronCustom", UnitOnly, "", td.ClassNeuronCustom, "26 C", "its keys; the table as an operand", func() Params { return &NeuronCustom{} }),
	KindKernelRasterizer:      row("KernelRasterizer", UnitOnly, "", td.ClassKernelRasterizer, "unit C", "the extents of its result; the meaning of the key RasterizerMode", func() Params { return &KernelRasterizer{Groups: 1} }),
	KindCostVolume:            row("CostVolume", UnitOnly, "", td.ClassCostVolume, "unit B", "the meaning of the keys ScaleFactorX and ScaleFactorY", func() Params { return &CostVolume{} }),
	KindFurthestPointSampling: row("FurthestPointSampling", UnitOnly, "", td.ClassFurthestPointSampling, "unit B", "", func() Params { return &FurthestPointSampling{Metric: td.DistanceL2} }),
	KindRadiusSearch:          row("RadiusSearch", UnitOnly, "", td.ClassRadiusSearch, "unit B", "", func() Params { return &RadiusSearch{} }),
	KindPlaneReader:           row("PlaneReader", UnitOnly, "", td.ClassPlaneReader, "C", "all but the class", func() Params { return &PlaneReader{} }),
	KindPlaneWriter:           row("PlaneWriter", UnitOnly, "", td.ClassPlaneWriter, "C", "all but the class", func() Params { return &PlaneWriter{} }),
	KindMatrixDecomposition:   row("MatrixDecomposition", UnitOnly, "", td.ClassMatrixDecomposition, "unit C", "what it computes", func() Params { return &MatrixDecomposition{} }),
	KindAlias:                 row("Alias", UnitOnly, "", td.ClassAlias, "C", "that it has one operand", func() Params { return &Alias{} }),
	KindQuant:                 row("Quant", UnitOnly, "", td.ClassQuant, "C 22 mil", "its keys; scale and zero as operands", func() Params { return &Quant{} }),
	KindDeQuant:               row("DeQuant", UnitOnly, "", td.ClassDeQuant, "C 22 mil", "its keys; its operands but x", func() Params { return &DeQuant{} }),
	KindRingBufferReader:      row("RingBufferReader", UnitOnly, "", td.ClassRingBufferReader, "C 26", "all but the class", func() Params { return &RingBufferReader{} }),
	KindBatchNorm:             row("BatchNorm", UnitOnly, "", td.ClassBatchNorm, "C mil", "its keys; its operands", func() Params { return &BatchNorm{} }),

	KindCopy:     row("Copy", Ours, "", td.ClassNEBypass, "C 22", "", func() Params { return &Copy{} }),
	KindTypeCast: row("TypeCast", Ours, "", td.ClassNEBypass, "C mil", "", func() Params { return &TypeCast{} }),
	KindSelect:   row("Select", Ours, "", td.ClassElementWise, "mil", "", func() Params { return &Select{} }),
}

// otherClasses are the operation classes without a kind, and why.
var otherClasses = map[td.Class]string{
	td.ClassConstMatrixMatrixMult: "a MatrixMultiplication or Linear with a constant",
	td.ClassPhi:                   "control flow: graphs here have none",
	td.ClassCondition:             "control flow: graphs here have none",
	td.ClassFunctionCall:          "control flow: graphs here have none",
	td.ClassWaitForEvent:          "an event between procedures, not a layer",
	td.ClassSignalEvent:           "an event between procedures, not a layer",
	td.ClassNEConv:                "the engine's form of a Conv: placement, not a kind",
	td.ClassNEMatMul:              "the engine's form of a MatrixMultiplication: placement, not a kind",
	td.ClassNEPool:                "the engine's form of a Pooling: placement, not a kind",
	td.ClassPEPool:                "the planar engine's form of a Pooling: placement, not a kind",
	td.ClassPEElementWise:         "the planar engine's form of an ElementWise: placement, not a kind",
	td.ClassPEGOC:                 "the planar engine's form of a GOC: placement, not a kind",
	td.ClassAllSlice:              "between the engines of a bonded network",
	td.ClassAllGather:             "between the engines of a bonded network",
	td.ClassAllReduce:             "between the engines of a bonded network",
}

var defaultSampling = Sampling{Padding: td.PadBackground}

func row(name string, s Standing, desc string, c td.Class, sources, unsure string, new func() Params) KindInfo {
	return KindInfo{Name: name, Standing: s, Desc: desc, Class: c, Sources: sources, Unsure: unsure, new: new}
}

// Valid reports whether k is a row of the table.
func (k Kind) Valid() bool { return k > 0 && k < numKinds }

func (k Kind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindTable[k].Name
}

// Info returns the row of the kind.
func (k Kind) Info() KindInfo {
	info := kindTable[k]
	info.Kind = k
	return info
}

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
func NewParams(k Kind) Params { return kindTable[k].new() }

// cloneParams returns a copy of the fields.
func cloneParams(p Params) Params {
	if p == nil {
		return nil
	}
	c := reflect.New(reflect.TypeOf(p).Elem())
	c.Elem().Set(reflect.ValueOf(p).Elem())
	return c.Interface().(Params)
}
