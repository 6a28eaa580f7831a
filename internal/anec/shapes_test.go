package anec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// A shapeCase is a layer in short: its kind and fields as in text, the types of
// its bottoms ("!" before a constant, "_" for none), and the types of its tops,
// or after "error:" a part of the complaint.
type shapeCase struct{ layer, bottoms, want string }

const bottomFloat = "fp16[1,1,3,8,8]"

var shapeCases = []shapeCase{
	{"Conv Kernel=[1,3,3]", bottomFloat + " !fp16[4,1,3,3,3]", "fp16[1,1,4,6,6]"},
	{"Conv Kernel=[1,3,3] Stride=[1,2,2] PadBefore=[0,1,1] PadAfter=[0,1,1]", bottomFloat + " fp16[4,1,3,3,3] !fp16[1,1,4,1,1]", "fp16[1,1,4,4,4]"},
	{"Conv Kernel=[1,3,3] Groups=3 Dilation=[1,2,2]", bottomFloat + " !fp16[6,1,1,3,3]", "fp16[1,1,6,4,4]"},
	{"Conv Kernel=[3,3,3]", "fp16[2,5,3,8,8] !fp16[4,3,3,3,3]", "fp16[2,3,4,6,6]"},
	{"Conv Transposed=true Kernel=[1,3,3] Stride=[1,2,2] OutputPad=[0,1,1]", bottomFloat + " !fp16[3,1,4,3,3]", "fp16[1,1,4,18,18]"},
	{"Conv Transposed=true Kernel=[1,2,2] Groups=3", bottomFloat + " !fp16[3,1,2,2,2]", "fp16[1,1,6,9,9]"},
	{"Conv Kernel=[1,3,3]", bottomFloat + " !fp16[4,1,2,3,3]", "error:x has 3 channels, w takes 2"},
	{"Conv Kernel=[1,3,3]", bottomFloat + " !fp16[4,1,3,3,2]", "error:w has 2 along W, want 3"},
	{"Conv Kernel=[1,9,3]", bottomFloat + " !fp16[4,1,3,9,3]", "error:does not fit into 8"},
	{"Conv", bottomFloat, "error:w is missing"},
	{"Conv Groups=2", "fp16[1,1,4,8,8] !fp16[3,1,2,1,1]", "error:do not divide into 2 groups"},
	{"Conv Groups=0", bottomFloat + " !fp16[4,1,3,1,1]", "error:0 groups"},
	{"Conv Stride=[1,0,1]", bottomFloat + " !fp16[4,1,3,1,1]", "error:stride 0"},
	{"Conv", bottomFloat + " !fp16[4,1,3,1,1] !fp16[1,1,3,1,1]", "error:bias has extents"},
	{"Conv", bottomFloat + " !fp16[4,1,3,1,1] _ " + bottomFloat, "error:at most 3"},

	{"Pooling Type=Max Kernel=[1,2,2] Stride=[1,2,2]", bottomFloat, "fp16[1,1,3,4,4]"},
	{"Pooling Type=ChannelMax", bottomFloat, "fp16[1,1,1,8,8]"},
	{"Pooling Type=SpatialArgMax Kernel=[1,2,2]", bottomFloat, "int32[1,1,3,7,7]"},
	{"Pooling Type=SpatialAndChannelAvg Kernel=[1,8,8]", bottomFloat, "fp16[1,1,1,1,1]"},
	{"Pooling", bottomFloat, "error:pooling kind 0 is not known"},
	{"Pooling Type=Avg Kernel=[1,9,1]", bottomFloat, "error:does not fit"},

	{"Concat Axis=C", bottomFloat + " fp16[1,1,5,8,8]", "fp16[1,1,8,8,8]"},
	{"Concat Axis=C Interleave=true", bottomFloat + " " + bottomFloat, "fp16[1,1,6,8,8]"},
	{"Concat Axis=W", bottomFloat, bottomFloat},
	{"Concat Axis=W", bottomFloat + " fp16[1,1,5,8,8]", "error:only those along W may differ"},
	{"Concat Axis=W", bottomFloat + " fp32[1,1,3,8,8]", "error:x 1 is of fp32"},
	{"Concat Axis=W", "", "error:x is missing"},

	{"ScaledElementWise Type=Add Scale=2", bottomFloat + " fp16[1,1,3,1,1]", bottomFloat},
	{"ScaledElementWise Type=Add", bottomFloat, "error:z is missing"},
	{"ScaledElementWise", bottomFloat + " " + bottomFloat, "error:is not known"},

	{"Neuron Type=relu", bottomFloat, bottomFloat},
	{"Neuron Type=prelu", bottomFloat + " !fp16[1,1,3,1,1]", bottomFloat},
	{"Neuron Type=relu", bottomFloat + " !fp16[1,1,3,1,1]", "error:takes no slope"},
	{"Neuron Type=custom_lut", bottomFloat, "error:NeuronCustom"},

	{"GOC Scale=2 Bias=1", bottomFloat, bottomFloat},
	{"GOC", bottomFloat + " !fp16[1,1,3,1,1] !fp16[1,1,1,1,1]", bottomFloat},
	{"GOC", bottomFloat + " fp16[1,1,3,1,1]", "error:scale must be a constant"},
	{"GOC", bottomFloat + " _ !fp16[1,1,4,1,1]", "error:bias has 4 along C"},

	{"DynamicGOC", bottomFloat + " fp16[1,1,3,1,1] fp16[1,1,3,1,1]", bottomFloat},
	{"DynamicGOC BiasOnly=true", bottomFloat + " _ fp16[1,1,3,1,1]", bottomFloat},
	{"DynamicGOC", bottomFloat, "error:scale is missing"},
	{"DynamicGOC BiasOnly=true", bottomFloat + " fp16[1,1,3,1,1]", "error:BiasOnly wants bias"},

	{"Flatten", "fp16[2,1,3,4,5]", "fp16[2,1,60,1,1]"},
	{"Flatten", "fp16[2,2,3,4,5]", "error:2 along D"},
	{"Unflatten Dims=[3,4,5]", "fp16[2,1,60,1,1]", "fp16[2,1,3,4,5]"},
	{"Unflatten Dims=[3,4,6]", "fp16[2,1,60,1,1]", "error:x has extents"},

	{"CrossCorrelation Template=[3,3]", "fp16[1,1,1,8,8] fp16[1,1,1,1,9]", "fp16[1,1,1,6,6]"},
	{"CrossCorrelation Template=[3,3] OutChannels=2 PadBefore=[1,1] PadAfter=[1,1]", bottomFloat + " fp16[1,1,1,1,54]", "fp16[1,1,2,8,8]"},
	{"CrossCorrelation Template=[3,3]", "fp16[1,1,1,8,8] fp16[1,1,1,1,8]", "error:template has extents"},
	{"CrossCorrelation Template=[0,3]", "fp16[1,1,1,8,8] fp16[1,1,1,1,8]", "error:kernel 0"},

	{"InputView Axis=C Offset=1 Size=2", bottomFloat, "fp16[1,1,2,8,8]"},
	{"InputView Axis=W Offset=7 Size=4 Step=-2", bottomFloat, "fp16[1,1,3,8,4]"},
	{"InputView Axis=C Offset=2 Size=2", bottomFloat, "error:leave the extent 3"},
	{"InputView Axis=W Offset=7 Size=5 Step=-2", bottomFloat, "error:leave the extent 8"},
	{"InputView Axis=W Offset=8 Size=1", bottomFloat, "error:begins at 8 of 8"},
	{"InputView Axis=W Size=1 Step=0", bottomFloat, "error:0 apart"},

	{"MatrixMultiplication", "fp16[1,1,2,4,8] fp16[1,1,1,8,5]", "fp16[1,1,2,4,5]"},
	{"MatrixMultiplication TransposeX=true TransposeZ=true", "fp16[3,1,1,8,4] fp16[1,1,2,5,8]", "fp16[3,1,2,4,5]"},
	{"MatrixMultiplication", "fp16[1,1,1,4,8] fp16[1,1,1,5,8]", "error:x has 8 columns, z 5 rows"},
	{"MatrixMultiplication", "fp16[1,1,2,4,8] fp16[1,1,3,8,5]", "error:x has 2 along C, z has 3"},

	{"Reduction Type=Sum Axes=HW", bottomFloat, "fp16[1,1,3,1,1]"},
	{"Reduction Type=ArgMax Axes=C", bottomFloat, "int32[1,1,1,8,8]"},
	{"Reduction Type=ArgMax Axes=HW", bottomFloat, "error:takes one axis, not HW"},
	{"Reduction Type=Sum", bottomFloat, "error:want at least one"},

	{"Transpose Perm=[N,D,H,W,C]", bottomFloat, "fp16[1,1,8,8,3]"},
	{"Transpose Perm=[N,N,H,W,C]", bottomFloat, "error:is not a permutation"},

	{"Reshape Dims=[1,1,1,3,64]", bottomFloat, "fp16[1,1,1,3,64]"},
	{"Reshape Dims=[1,1,1,3,65]", bottomFloat, "error:192 elements are not 195"},
	{"Reshape Dims=[-1,1,1,3,-64]", bottomFloat, "error:cannot become"},

	{"Shape Axes=[C,W]", bottomFloat, "int32[1,1,1,1,2]"},
	{"Shape", bottomFloat, "error:no axes"},

	{"Softmax Axes=C", bottomFloat, bottomFloat},
	{"Softmax", bottomFloat, "error:want at least one"},
	{"Softmax Axes=C", "int32[1,1,3,8,8]", "error:floating-point"},

	{"InstanceNormalization Axes=HW", bottomFloat + " fp16[1,1,3,1,1] fp16[1,1,3,1,1]", bottomFloat},
	{"InstanceNormalization Axes=CHW", bottomFloat, "error:over C: want DHW"},
	{"L2Normalization Axes=C Epsilon=1e-06", bottomFloat, bottomFloat},
	{"L2Normalization", bottomFloat, "error:want at least one"},
	{"MinMaxNormalization Axes=W", bottomFloat, bottomFloat},
	{"MinMaxNormalization Axes=none", bottomFloat, "error:want at least one"},
	{"LayerNormalization Axes=W Epsilon=1e-05", "fp16[1,1,1,4,8] fp16[1,1,1,1,8]", "fp16[1,1,1,4,8]"},
	{"LayerNormalization Axes=CHW Groups=3", bottomFloat, bottomFloat},
	{"LayerNormalization Axes=CHW Groups=2", bottomFloat, "error:3 channels do not divide into 2"},
	{"LayerNormalization Axes=HW Groups=3", bottomFloat, "error:C is not normalized"},
	{"LayerNormalization Axes=W", "fp16[1,1,1,4,8] fp16[1,1,1,1,7]", "error:gamma has 7 along W"},
	{"LocalResponseNormalization Size=5 Alpha=0.1", bottomFloat, bottomFloat},
	{"LocalResponseNormalization Size=0", bottomFloat, "error:a window of 0"},

	{"PixelShuffle X=2 Y=2", "fp16[1,1,12,4,4]", "fp16[1,1,3,8,8]"},
	{"PixelShuffle X=2 Y=2", "fp16[1,1,6,4,4]", "error:3 along C does not divide by 2"},
	{"PixelUnshuffle X=2 Y=4", "fp16[1,1,3,8,8]", "fp16[1,1,24,2,4]"},
	{"PixelUnshuffle X=3", "fp16[1,1,3,8,8]", "error:blocks of 3"},
	{"ChannelToSpace X=2", "fp16[1,1,4,8,8]", "fp16[1,1,2,8,16]"},
	{"ChannelToSpace X=0", "fp16[1,1,4,8,8]", "error:does not divide by 0"},
	{"SpaceToChannel Z=2", "fp16[1,2,4,8,8]", "fp16[1,1,8,8,8]"},
	{"SpaceToChannel Y=-1", "fp16[1,2,4,8,8]", "error:blocks of -1"},
	{"SpaceToBatch X=2 Y=2", "fp16[2,1,4,8,8]", "fp16[8,1,4,4,4]"},
	{"SpaceToBatch X=16", "fp16[2,1,4,8,8]", "error:blocks of 16"},
	{"BatchToSpace X=2 Y=2", "fp16[8,1,4,4,4]", "fp16[2,1,4,8,8]"},
	{"BatchToSpace X=3", "fp16[8,1,4,4,4]", "error:8 along N"},

	{"Gather Axes=[C]", bottomFloat + " int32[1,1,5,1,1]", "fp16[1,1,5,8,8]"},
	{"Gather Axes=[W]", bottomFloat + " uint16[1,1,3,8,2]", "fp16[1,1,3,8,2]"},
	{"Gather Axes=[H,W]", bottomFloat + " int32[1,1,2,1,5]", "fp16[1,1,3,1,5]"},
	{"Gather Axes=[C,H,W]", bottomFloat + " int32[1,1,3,2,5]", "fp16[1,1,1,2,5]"},
	{"Gather Axes=[W]", bottomFloat + " int32[1,1,2,8,2]", "error:indices has 2 along C"},
	{"Gather Axes=[W]", bottomFloat + " fp32[1,1,1,1,2]", "error:want integers"},
	{"Gather Axes=[W,W]", bottomFloat + " int32[1,1,2,1,2]", "error:W stands twice"},
	{"Gather", bottomFloat + " int32[1,1,2,1,2]", "error:no axes"},

	{"AffineTransform Size=[4,4]", bottomFloat + " fp16[1,1,1,2,3]", "fp16[1,1,3,4,4]"},
	{"AffineTransform Size=[4,4]", bottomFloat + " fp16[1,1,1,3,2]", "error:matrix has extents"},
	{"AffineTransform", bottomFloat + " fp16[1,1,1,2,3]", "error:size [0 0]"},
	{"Resize Size=[16,4] Method=NearestNeighbor", bottomFloat, "fp16[1,1,3,16,4]"},
	{"Resize Scale=[1.5,2] Grid=AlignedCorners", bottomFloat, "fp16[1,1,3,12,16]"},
	{"Resize Scale=[NaN,2]", bottomFloat, "error:size 0, scale NaN"},
	{"Resize Size=[-1,4]", bottomFloat, "error:size -1"},
	{"ResizeAs", bottomFloat + " fp16[1,1,1,5,6]", "fp16[1,1,3,5,6]"},
	{"ResizeAs", bottomFloat, "error:like is missing"},
	{"Resample Padding=Replication", bottomFloat + " fp16[1,1,2,5,6]", "fp16[1,1,3,5,6]"},
	{"Resample", bottomFloat + " fp16[1,1,1,1,6]", "fp16[1,1,3,8,6]"},
	{"Resample", bottomFloat + " fp16[1,1,3,5,6]", "error:want 1 or 2"},

	{"Padding Before=[0,0,0,1,2] After=[0,0,1,1,0] Mode=Background Value=3", bottomFloat, "fp16[1,1,4,10,10]"},
	{"Padding Before=[0,0,0,0,7] Mode=Reflective", bottomFloat, "fp16[1,1,3,8,15]"},
	{"Padding Before=[0,0,0,0,8] Mode=Reflective", bottomFloat, "error:Reflective takes at most 7"},
	{"Padding After=[0,0,0,0,9] Mode=Symmetric", bottomFloat, "error:Symmetric takes at most 8"},
	{"Padding Before=[0,0,0,-1,0]", bottomFloat, "error:padding -1"},

	{"Tile Reps=[1,1,2,1,3]", bottomFloat, "fp16[1,1,6,8,24]"},
	{"Tile Reps=[1,1,0,1,3]", bottomFloat, "error:0 repetitions"},

	{"CropResize Size=[4,4]", bottomFloat + " fp16[7,1,4,1,1]", "fp16[7,1,3,4,4]"},
	{"CropResize Size=[4,4]", "fp16[2,1,3,8,8] fp16[7,1,5,1,1]", "fp16[7,1,3,4,4]"},
	{"CropResize Size=[4,4]", "fp16[2,1,3,8,8] fp16[7,1,4,1,1]", "error:7 boxes without an index"},
	{"CropResize Size=[4,4]", bottomFloat + " fp16[7,1,3,1,1]", "error:want 4 or 5"},

	{"DynamicSlice Axes=[W,H] Sizes=[2,3]", bottomFloat + " int32[1,1,1,1,2]", "fp16[1,1,3,3,2]"},
	{"DynamicSlice Axes=[W] Sizes=[9]", bottomFloat + " int32[1,1,1,1,1]", "error:a slice of 9"},
	{"DynamicSlice Axes=[W] Sizes=[2,3]", bottomFloat + " int32[1,1,1,1,2]", "error:1 axes and 2 sizes"},

	{"Sort Axis=W", bottomFloat, bottomFloat},
	{"Sort Axis=W Direction=Descending Results=Both", bottomFloat, bottomFloat + " int32[1,1,3,8,8]"},
	{"Sort Axis=W VectorAxis=C Keys=[0] Results=Both", bottomFloat, bottomFloat + " int32[1,1,1,8,8]"},
	{"Sort Axis=W VectorAxis=C Keys=[3]", bottomFloat, "error:key 3 of 3"},
	{"Sort Axis=W VectorAxis=W Keys=[0]", bottomFloat, "error:W stands twice"},
	{"TopK Axis=W K=3 Results=Both", bottomFloat, "fp16[1,1,3,8,3] int32[1,1,3,8,3]"},
	{"TopK Axis=W K=3 Results=Indices", bottomFloat, "int32[1,1,3,8,3]"},
	{"TopK Axis=W K=9", bottomFloat, "error:the first 9 of 8"},

	{"NMS MaxBoxes=5", "fp16[1,1,1,20,4] fp16[1,1,1,20,3]", "fp16[1,1,1,5,4] fp16[1,1,1,5,3] int32[1,1,1,1,5] int32[1,1,1,1,1]"},
	{"NMS MaxBoxes=5", "fp16[1,1,1,20,5] fp16[1,1,1,20,3]", "error:boxes has extents"},
	{"NMS", "fp16[1,1,1,20,4] fp16[1,1,1,20,3]", "error:at most 0 boxes"},

	{"Dropout Rate=0.5", bottomFloat, bottomFloat},
	{"Dropout Rate=1", bottomFloat, "error:rate 1"},
	{"RandomGenerator Dims=[1,1,1,2,3]", "", "fp16[1,1,1,2,3]"},
	{"RandomGenerator Dims=[1,1,1,2,3] Low=1", "", "error:from 1 to 1"},
	{"RandomGenerator Dims=[1,1,1,2,-3]", "", "error:not those of a tensor"},

	{"Linear", "fp16[1,1,1,4,8] !fp16[1,1,1,5,8] !fp16[1,1,1,1,5]", "fp16[1,1,1,4,5]"},
	{"Linear Axis=C", bottomFloat + " !fp16[1,1,1,5,3] !fp16[1,1,5,1,1]", "fp16[1,1,5,8,8]"},
	{"Linear", "fp16[1,1,1,4,8] !fp16[1,1,1,5,7]", "error:w has extents"},

	{"RingBufferWriter Offset=[0,0,0,2,0]", "fp16[1,1,2,8,4] fp16[1,1,2,3,4]", "fp16[1,1,2,8,4]"},
	{"RingBufferWriter Live=[H] Circular=H", "fp16[1,1,2,8,4] fp16[1,1,2,3,4] int32[1,1,1,1,1]", "fp16[1,1,2,8,4]"},
	{"RingBufferWriter Offset=[0,0,0,6,0]", "fp16[1,1,2,8,4] fp16[1,1,2,3,4]", "error:leave the state"},
	{"RingBufferWriter Live=[H]", "fp16[1,1,2,8,4] fp16[1,1,2,3,4]", "error:start is there: false"},
	{"RingBufferWriter", "fp16[1,1,2,8,4] fp32[1,1,2,3,4]", "error:update of fp32"},

	{"SDPA SubtractMax=true", "fp16[1,1,8,16,64] fp16[1,1,8,20,64] fp16[1,1,8,20,32] !fp16[1,1,1,1,1] fp16[1,1,1,16,20]", "fp16[1,1,8,16,32]"},
	{"SDPA", "fp16[1,1,8,16,64] fp16[1,1,1,20,64] fp16[1,1,1,20,64] !fp16[1,1,1,1,1]", "fp16[1,1,8,16,64]"},
	{"SDPA", "fp16[1,1,8,16,64] fp16[1,1,8,20,64] fp16[1,1,8,20,64] fp16[1,1,1,1,1]", "error:scale must be a constant"},
	{"SDPA", "fp16[1,1,8,16,64] fp16[1,1,8,20,63] fp16[1,1,8,20,64] !fp16[1,1,1,1,1]", "error:q has 64 features"},
	{"SDPA", "fp16[1,1,8,16,64] fp16[1,1,8,20,64] fp16[1,1,8,20,64] !fp16[1,1,1,1,1] fp16[1,1,1,16,21]", "error:mask has 21 along W"},

	{"ElementWise Type=Add", bottomFloat + " fp16[1,1,1,8,1]", bottomFloat},
	{"ElementWise Type=LessThan", bottomFloat + " " + bottomFloat, "bool[1,1,3,8,8]"},
	{"ElementWise Type=Abs", bottomFloat, bottomFloat},
	{"ElementWise Type=Abs", bottomFloat + " " + bottomFloat, "error:Abs takes x alone"},
	{"ElementWise Type=Add", bottomFloat, "error:Add takes x and z"},
	{"ElementWise Type=Add", bottomFloat + " fp16[1,1,2,8,1]", "error:x has 3 along C, z has 2"},

	{"ArgMinMax Mode=SpatialArgMax Kernel=[1,8,8]", bottomFloat, "int32[1,1,3,1,1]"},
	{"ArgMinMax Mode=ChannelArgMin Kernel=[1,8,8]", bottomFloat, "int32[1,1,1,8,8]"},
	{"ArgMinMax", bottomFloat, "error:mode 0 is not known"},
	{"GlobalArgMinMax Axis=H", bottomFloat, "int32[1,1,3,1,8]"},
	{"GlobalArgMinMax", "", "error:x is missing"},
	{"Broadcast Dims=[2,1,3,8,8]", "fp16[1,1,3,1,8]", "fp16[2,1,3,8,8]"},
	{"Broadcast Dims=[2,1,3,8,8]", "fp16[1,1,2,1,8]", "error:x has 2 along C, want 3 or 1"},
	{"CrossProduct", "fp16[2,1,3,1,1] fp16[2,1,3,1,1]", "fp16[2,1,3,1,1]"},
	{"CrossProduct", "fp16[2,1,4,1,1] fp16[2,1,4,1,1]", "error:x has 4 along C"},

	{"NeuronCustom", bottomFloat + " !uint16[1,1,1,1,64]", bottomFloat},
	{"NeuronCustom", bottomFloat + " !fp16[1,1,1,1,64]", "error:table is of fp16"},
	{"KernelRasterizer Kernel=[3,3]", bottomFloat, "fp16[1,1,27,6,6]"},
	{"KernelRasterizer Kernel=[9,3]", bottomFloat, "error:does not fit"},
	{"CostVolume Range=2", "fp16[1,1,1,8,6] fp16[1,1,1,8,8]", "fp16[1,1,3,8,6]"},
	{"CostVolume Range=3", "fp16[1,1,1,8,6] fp16[1,1,1,8,8]", "error:ref has 8 along W"},
	{"FurthestPointSampling Count=4", "fp16[1,1,3,1,100]", "fp16[1,1,3,1,4]"},
	{"FurthestPointSampling Count=101", "fp16[1,1,3,1,100]", "error:101 of 100"},
	{"RadiusSearch Radius=1", "fp16[1,1,3,1,4] fp16[1,1,3,1,100]", "fp16[1,1,1,100,4]"},
	{"RadiusSearch", "fp16[1,1,3,1,4] fp16[1,1,3,1,100]", "error:radius 0"},
	{"PlaneReader", bottomFloat, bottomFloat},
	{"PlaneReader", "", "error:x is missing"},
	{"PlaneWriter", bottomFloat, bottomFloat},
	{"PlaneWriter", bottomFloat + " " + bottomFloat, "error:at most 1"},
	{"MatrixDecomposition Type=NonQRGivens RotationAxis=[7]", "fp16[1,1,9,1,1]", "fp16[1,1,4,1,4]"},
	{"MatrixDecomposition Type=NonQRGivens", "fp16[1,1,9,1,1]", "error:0 rotation axes"},
	{"Alias", bottomFloat, bottomFloat},
	{"Alias", "_", "error:x is missing"},
	{"Quant To=int8", bottomFloat + " !fp16[1,1,3,1,1]", "int8[1,1,3,8,8]"},
	{"Quant To=fp16", bottomFloat + " !fp16[1,1,3,1,1]", "error:want an integer type"},
	{"DeQuant", "int8[1,1,3,8,8] !fp16[1,1,1,1,1] !int8[1,1,1,1,1]", bottomFloat},
	{"DeQuant", "int4[1,1,4,8,8] !fp16[1,1,2,8,1] !int4[1,1,1,1,1]", "fp16[1,1,4,8,8]"},
	{"DeQuant", "int4[1,1,4,8,8] !fp16[1,1,3,1,1]", "error:scale has extents [1 1 3 1 1], which do not divide"},
	{"DeQuant", "int8[1,1,3,8,8]", "error:neither scale nor table nor mask"},
	{"DeQuant", "int8[1,1,3,8,8] _ !int8[1,1,1,1,1]", "error:zero without scale"},
	{"DeQuant VectorAxis=N Blocks=[1,1,2,1,1]", "uint4[2,1,4,1,1] _ _ !fp16[1,1,2,16,3]", "fp16[6,1,4,1,1]"},
	{"DeQuant Blocks=[1,1,2,1,1]", "uint4[2,1,4,1,1] _ _ !fp16[1,1,3,16,1]", "error:table has extents"},
	{"DeQuant Blocks=[1,1,3,1,1]", "uint4[2,1,4,1,1] _ _ !fp16[1,1,3,16,1]", "error:which do not divide"},
	{"DeQuant Blocks=[1,1,1,1,1]", "fp16[2,1,4,1,1] _ _ !fp16[1,1,1,16,1]", "error:indices into a table are fp16"},
	{"DeQuant Blocks=[1,1,1,1,1]", "int8[2,1,4,1,1] !fp16[1,1,1,1,1]", "error:of no table"},
	{"DeQuant", "fp16[1,1,1,1,5] _ _ _ !uint1[1,1,4,8,8]", "fp16[1,1,4,8,8]"},
	{"DeQuant", "fp16[1,1,1,5,1] _ _ _ !uint1[1,1,4,8,8]", "error:x has extents"},
	{"DeQuant", "fp16[1,1,1,1,5] _ _ _ !int8[1,1,4,8,8]", "error:want bool or uint1"},
	{"RingBufferReader Size=[1,1,2,3,4] Offset=[0,0,0,2,0]", "fp16[1,1,2,8,4]", "fp16[1,1,2,3,4]"},
	{"RingBufferReader Size=[1,1,2,9,4]", "fp16[1,1,2,8,4]", "error:leave the state"},
	{"BatchNorm", bottomFloat + " !fp16[1,1,3,1,1] !fp16[1,1,3,1,1]", bottomFloat},
	{"BatchNorm", bottomFloat + " !fp16[1,1,3,1,1] !fp16[1,1,1,1,1]", "error:variance has extents"},

	{"Copy", bottomFloat, bottomFloat},
	{"Copy OutputType=int8", bottomFloat, "int8[1,1,3,8,8]"},
	{"Copy", "", "error:x is missing"},
	{"TypeCast To=int32", bottomFloat, "int32[1,1,3,8,8]"},
	{"TypeCast", bottomFloat, "error:no task can hold invalid"},
	{"Select", "bool[1,1,1,8,8] " + bottomFloat + " fp16[1,1,1,1,1]", bottomFloat},
	{"Select", "bool[1,1,1,8,8] " + bottomFloat + " fp32[1,1,1,1,1]", "error:a is of fp16, b of fp32"},
}

// build adds the case to a graph of its own.
func (c shapeCase) build() (*Layer, error) {
	g := New("case")
	name, fields, _ := strings.Cut(c.layer, " ")
	kind, ok := KindOf(name)
	if !ok {
		return nil, fmt.Errorf("no kind %q", name)
	}
	s := Spec{Name: "y", Params: NewParams(kind)}
	if err := setFields(fields, s.Params, &s.OutputType); err != nil {
		return nil, err
	}
	for i, word := range strings.Fields(c.bottoms) {
		v, err := addBottom(g, fmt.Sprintf("x%d", i), word)
		if err != nil {
			return nil, err
		}
		s.Bottoms = append(s.Bottoms, v)
	}
	return g.Add(s)
}

func addBottom(g *Graph, name, word string) (*Value, error) {
	if word == "_" {
		return nil, nil
	}
	text, isConst := strings.CutPrefix(word, "!")
	t, err := parseType(text)
	if err != nil {
		return nil, err
	}
	if isConst {
		return g.AddConstant(name, ConstantOf(tensor.New(t.DType, t.Dims[:]...)))
	}
	return g.AddInput(name, t)
}

// Every kind's rule is shown by a layer that it accepts and one that it refuses.
func TestShapeRules(t *testing.T) {
	good, bad := map[string]bool{}, map[string]bool{}
	for _, c := range shapeCases {
		name, _, _ := strings.Cut(c.layer, " ")
		t.Run(c.layer, func(t *testing.T) {
			l, err := c.build()
			if complaint, isError := strings.CutPrefix(c.want, "error:"); isError {
				bad[name] = true
				if err == nil || !strings.Contains(err.Error(), complaint) {
					t.Errorf("(%s): got %v, want an error with %q", c.bottoms, err, complaint)
				}
				return
			}
			good[name] = true
			if err != nil {
				t.Fatalf("(%s): %v", c.bottoms, err)
			}
			var got []string
			for _, v := range l.Tops {
				got = append(got, v.Type.String())
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("(%s): got %s, want %s", c.bottoms, strings.Join(got, " "), c.want)
			}
		})
	}
	for _, k := range Kinds() {
		if !good[k.String()] || !bad[k.String()] {
			t.Errorf("%v: a good case is there: %t, a bad one: %t", k, good[k.String()], bad[k.String()])
		}
	}
}
