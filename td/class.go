package td

import "fmt"

// Class is what an operation does, by the numbers of Apple's operation classes
// (ZinUnitType; guide C.1, seed 23.13). A version-256 task names its class; the
// classes that have a row in classRows can be built and executed.
type Class uint8

// The 79 operation classes.
const (
	ClassConv                       Class = 1
	ClassPooling                    Class = 2
	ClassConcat                     Class = 3
	ClassElementWise                Class = 4
	ClassScaledElementWise          Class = 5
	ClassNeuron                     Class = 6
	ClassNeuronCustom               Class = 7
	ClassGOC                        Class = 8
	ClassDynamicGOC                 Class = 9
	ClassConstMatrixMatrixMult      Class = 10
	ClassFlatten                    Class = 11
	ClassUnflatten                  Class = 12
	ClassCrossCorrelation           Class = 13
	ClassKernelRasterizer           Class = 14
	ClassArgMinMax                  Class = 15
	ClassGlobalArgMinMax            Class = 16
	ClassInputView                  Class = 17
	ClassMatrixMultiplication       Class = 18
	ClassBroadcast                  Class = 19
	ClassReduction                  Class = 20
	ClassTranspose                  Class = 21
	ClassReshape                    Class = 22
	ClassShape                      Class = 23
	ClassSoftmax                    Class = 24
	ClassInstanceNormalization      Class = 25
	ClassL2Normalization            Class = 26
	ClassMinMaxNormalization        Class = 27
	ClassLayerNormalization         Class = 28
	ClassLocalResponseNormalization Class = 29
	ClassCostVolume                 Class = 30
	ClassPixelShuffle               Class = 31
	ClassPixelUnshuffle             Class = 32
	ClassFurthestPointSampling      Class = 33
	ClassSpaceToBatch               Class = 34
	ClassBatchToSpace               Class = 35
	ClassSpaceToChannel             Class = 36
	ClassChannelToSpace             Class = 37
	ClassRadiusSearch               Class = 38
	ClassGather                     Class = 39
	ClassAffineTransform            Class = 40
	ClassResize                     Class = 41
	ClassResizeAs                   Class = 42
	ClassResample                   Class = 43
	ClassPadding                    Class = 44
	ClassTile                       Class = 45
	ClassCropResize                 Class = 46
	ClassDynamicSlice               Class = 47
	ClassPlaneReader                Class = 48
	ClassPlaneWriter                Class = 49
	ClassSort                       Class = 50
	ClassTopK                       Class = 51
	ClassNMS                        Class = 52
	ClassMatrixDecomposition        Class = 53
	ClassDropout                    Class = 54
	ClassRandomGenerator            Class = 55
	ClassAlias                      Class = 56
	ClassCrossProduct               Class = 57
	ClassQuant                      Class = 58
	ClassDeQuant                    Class = 59
	ClassLinear                     Class = 60
	ClassRingBufferWriter           Class = 61
	ClassRingBufferReader           Class = 62
	ClassBatchNorm                  Class = 63
	ClassPhi                        Class = 64
	ClassCondition                  Class = 65
	ClassWaitForEvent               Class = 66
	ClassSignalEvent                Class = 67
	ClassNEConv                     Class = 68
	ClassNEMatMul                   Class = 69
	ClassNEPool                     Class = 70
	ClassNEBypass                   Class = 71
	ClassPEPool                     Class = 72
	ClassPEElementWise              Class = 73
	ClassPEGOC                      Class = 74
	ClassAllSlice                   Class = 75
	ClassAllGather                  Class = 76
	ClassSDPA                       Class = 77
	ClassAllReduce                  Class = 78
	ClassFunctionCall               Class = 79
)

// NumClasses is the number of operation classes, which count from 1.
const NumClasses = 79

var classNames = [NumClasses + 1]string{
	ClassConv:                       "Conv",
	ClassPooling:                    "Pooling",
	ClassConcat:                     "Concat",
	ClassElementWise:                "ElementWise",
	ClassScaledElementWise:          "ScaledElementWise",
	ClassNeuron:                     "Neuron",
	ClassNeuronCustom:               "NeuronCustom",
	ClassGOC:                        "GOC",
	ClassDynamicGOC:                 "DynamicGOC",
	ClassConstMatrixMatrixMult:      "ConstMatrixMatrixMult",
	ClassFlatten:                    "Flatten",
	ClassUnflatten:                  "Unflatten",
	ClassCrossCorrelation:           "CrossCorrelation",
	ClassKernelRasterizer:           "KernelRasterizer",
	ClassArgMinMax:                  "ArgMinMax",
	ClassGlobalArgMinMax:            "GlobalArgMinMax",
	ClassInputView:                  "InputView",
	ClassMatrixMultiplication:       "MatrixMultiplication",
	ClassBroadcast:                  "Broadcast",
	ClassReduction:                  "Reduction",
	ClassTranspose:                  "Transpose",
	ClassReshape:                    "Reshape",
	ClassShape:                      "Shape",
	ClassSoftmax:                    "Softmax",
	ClassInstanceNormalization:      "InstanceNormalization",
	ClassL2Normalization:            "L2Normalization",
	ClassMinMaxNormalization:        "MinMaxNormalization",
	ClassLayerNormalization:         "LayerNormalization",
	ClassLocalResponseNormalization: "LocalResponseNormalization",
	ClassCostVolume:                 "CostVolume",
	ClassPixelShuffle:               "PixelShuffle",
	ClassPixelUnshuffle:             "PixelUnshuffle",
	ClassFurthestPointSampling:      "FurthestPointSampling",
	ClassSpaceToBatch:               "SpaceToBatch",
	ClassBatchToSpace:               "BatchToSpace",
	ClassSpaceToChannel:             "SpaceToChannel",
	ClassChannelToSpace:             "ChannelToSpace",
	ClassRadiusSearch:               "RadiusSearch",
	ClassGather:                     "Gather",
	ClassAffineTransform:            "AffineTransform",
	ClassResize:                     "Resize",
	ClassResizeAs:                   "ResizeAs",
	ClassResample:                   "Resample",
	ClassPadding:                    "Padding",
	ClassTile:                       "Tile",
	ClassCropResize:                 "CropResize",
	ClassDynamicSlice:               "DynamicSlice",
	ClassPlaneReader:                "PlaneReader",
	ClassPlaneWriter:                "PlaneWriter",
	ClassSort:                       "Sort",
	ClassTopK:                       "TopK",
	ClassNMS:                        "NMS",
	ClassMatrixDecomposition:        "MatrixDecomposition",
	ClassDropout:                    "Dropout",
	ClassRandomGenerator:            "RandomGenerator",
	ClassAlias:                      "Alias",
	ClassCrossProduct:               "CrossProduct",
	ClassQuant:                      "Quant",
	ClassDeQuant:                    "DeQuant",
	ClassLinear:                     "Linear",
	ClassRingBufferWriter:           "RingBufferWriter",
	ClassRingBufferReader:           "RingBufferReader",
	ClassBatchNorm:                  "BatchNorm",
	ClassPhi:                        "Phi",
	ClassCondition:                  "Condition",
	ClassWaitForEvent:               "WaitForEvent",
	ClassSignalEvent:                "SignalEvent",
	ClassNEConv:                     "NEConv",
	ClassNEMatMul:                   "NEMatMul",
	ClassNEPool:                     "NEPool",
	ClassNEBypass:                   "NEBypass",
	ClassPEPool:                     "PEPool",
	ClassPEElementWise:              "PEElementWise",
	ClassPEGOC:                      "PEGOC",
	ClassAllSlice:                   "AllSlice",
	ClassAllGather:                  "AllGather",
	ClassSDPA:                       "SDPA",
	ClassAllReduce:                  "AllReduce",
	ClassFunctionCall:               "FunctionCall",
}

// Valid reports whether c is one of the 79.
func (c Class) Valid() bool { return c >= 1 && c <= NumClasses }

func (c Class) String() string {
	if !c.Valid() {
		return fmt.Sprintf("class %d", uint8(c))
	}
	return classNames[c]
}
