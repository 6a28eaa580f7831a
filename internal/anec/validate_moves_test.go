package anec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/tensor"
)

// A gateCase is a layer in short, as in a shapeCase, on a target. want is empty
// where it is accepted, else the ID and the text of the reject.
type gateCase struct{ layer, bottoms, target, want string }

const (
	noTranspose = "NE Input Transpose is not supported for this arch"
	noDecompose = "Cannot decompose layer on this architecture"
	noCircular  = "ring-buffer-circular: Circular buffer is not supported on this architecture"
)

var moveGates = []gateCase{
	{"Concat Axis=C", bottomFloat + " fp16[1,1,5,8,8]", "h13", ""},
	{"Concat Axis=C", bottomFloat, "h13", "layer-bottoms: Concat layer must have at least 2 inputs"},
	{"Concat Axis=C", bottomFloat + " fp16[1,1,3,8,8]x2", "h13", "concat-layout: both concat inputs must have the same layout"},
	{"Concat Axis=C Interleave=true", bottomFloat + " " + bottomFloat, "h17s", ""},
	{"Concat Axis=W Interleave=true", bottomFloat + " " + bottomFloat, "h17s", "concat-interleave: ANEC only supports interleave on C axis"},

	{"Tile Reps=[1,1,6,1,16]", bottomFloat, "h13", ""},
	{"Tile Reps=[1,1,1,5,1]", bottomFloat, "h17s", "tile-factor: Invalid tile factor height = 5"},

	{"Broadcast Dims=[2,1,3,8,8]", "fp16[1,1,3,1,8]", "h13", ""},
	{"Broadcast Dims=[1,4,3,8,8]", bottomFloat, "h13", "broadcast-depth: Broadcast along depth axis is not supported on this architecture"},
	{"Broadcast Dims=[1,1,3,8,8]", "int8[1,1,3,1,8]", "h12", "broadcast-legacy-type: Only fp16 is supported for A11/A12 Broadcasts."},
	{"Broadcast Dims=[1,1,3,8,8]", "int8[1,1,3,1,8]", "h13", ""},

	{"Transpose Perm=[N,D,H,W,C]", bottomFloat, "h13", ""},
	{"Transpose Perm=[C,D,N,H,W]", "fp16[1,1,3,8,8]", "h13", ""}, // batch 1: nothing moves
	{"Transpose Perm=[C,D,N,H,W]", "fp16[2,1,3,8,8]", "h13", "transpose-batch: Invalid N-related Transpose input dimension"},
	{"Transpose Perm=[N,D,W,H,C]", "fp16[1,1,16,1,8]", "h12", ""},
	{"Transpose Perm=[N,D,W,H,C]", "fp16[1,1,5,1,8]", "h12", "transpose-channel-factors: " + noTranspose},
	{"Transpose Perm=[N,D,W,H,C]", "fp16[1,1,16,2,8]", "h12", "transpose-channel-factors: " + noTranspose},
	{"Transpose Perm=[N,D,W,H,C]", "fp16[1,1,5,2,8]", "h13", ""},

	{"Reshape Dims=[1,1,1,3,64]", bottomFloat, "h13", ""},
	{"Reshape Dims=[1,1,1,3,64]", bottomFloat, "h12", "reshape-legacy: cannot be lowered as Flatten on ANE"},
	{"Reshape Dims=[1,1,192,1,1]", bottomFloat, "h12", ""},

	{"Shape Axes=[C,W]", bottomFloat, "h13", ""},
	{"Shape Axes=[C,W,C,W,C,W]", bottomFloat, "h13", "shape-axes: Shape of 6 dimensions exceeds the max rank 5"},

	{"InputView Axis=W Offset=2 Size=4", bottomFloat, "h13", ""},
	{"InputView Axis=W Offset=7 Size=8 Step=-1", bottomFloat, "h13", ""},
	{"InputView Axis=W Offset=5 Size=4 Step=-1", bottomFloat, "h13", "input-view-partial-reverse: Error: View unit cannot be a partial view with negative strides"},
	{"InputView Axis=C Offset=3 Size=4", "fp16[1,1,8,8,8]x4", "h13", "input-view-interleave: Error: illegal View whose channel offset 3 is not divisible by the interleave factor 4"},
	{"InputView Axis=C Offset=4 Size=4", "fp16[1,1,8,8,8]x4", "h13", ""},

	{"DynamicSlice Axes=[W] Sizes=[2]", bottomFloat + " int32[1,1,1,1,1]", "h13", ""}, // the validator takes it; Codegen does not

	{"Padding Before=[0,0,0,1,2]", bottomFloat, "h13", ""},
	{"Padding Before=[0,0,1,0,0]", bottomFloat, "h17s", "pad-channel: Channel padding is not supported on ANE"},
	{"Padding After=[0,1,0,0,0]", bottomFloat, "h17s", "pad-depth: Depth dim not supported for ANEC padding"},
	{"Padding After=[1,0,0,0,0]", bottomFloat, "h17s", "pad-batch: padding on the batch dimension is not supported yet"},
	{"Padding Before=[0,0,0,0,2] Mode=Reflective", bottomFloat, "h13", "pad-mode: Architecture does not support padding mode."},
	{"Padding Before=[0,0,0,0,2] Mode=Symmetric", bottomFloat, "h13g", "pad-mode: Architecture does not support padding mode."},
	{"Padding Before=[0,0,0,0,2] Mode=Reflective", bottomFloat, "h14", ""},
	{"Padding Before=[0,0,0,0,2] Mode=Replication", bottomFloat, "h13", ""},
	{"Padding Before=[0,0,0,0,2] Mode=Background Value=-65504", bottomFloat, "h13", ""},
	{"Padding Before=[0,0,0,0,2] Mode=Background Value=70000", bottomFloat, "h13", "pad-value: Invalid background padding (70000.000000) in L2_format (fp16), it is beyond ANE limits range [-65504, 65504]"},

	{"Gather Axes=[C]", bottomFloat + " int32[1,1,5,1,1]", "h13", ""},
	{"Gather Axes=[C]", "fp16[2,1,3,8,8] int32[1,1,5,1,1]", "h13", "gather-envelope: " + noDecompose},
	{"Gather Axes=[C]", "fp16[2,1,3,8,8] int32[1,1,5,1,1]", "h14", ""},
	{"Gather Axes=[C]", "fp16[1,2,3,8,8] int32[1,1,5,1,1]", "h13", "gather-envelope: " + noDecompose},
	{"Gather Axes=[C,H,W]", bottomFloat + " int32[1,1,3,5,1]", "h13", ""},
	{"Gather Axes=[C,H,W]", bottomFloat + " int32[1,1,3,2,5]", "h13", "gather-envelope: " + noDecompose},
	{"Gather Axes=[H,W]", bottomFloat + " int32[1,1,2,1,1]", "h13", "gather-envelope: " + noDecompose},
	{"Gather Axes=[H,W]", bottomFloat + " int32[1,1,2,1,1]", "h14", ""},
	{"Gather Axes=[C]", bottomFloat + " int32[1,1,5,1,1]x2", "h14", "gather-interleave: Invalid index tensor channel count 5, not divisible by interleave 2"},

	{"Sort Axis=W Results=Both", bottomFloat, "h13", ""}, // the validator takes it; Codegen does not
	{"Sort Axis=W", "fp32[1,1,3,8,8]", "h14", ""},
	{"Sort Axis=W Results=Indices", bottomFloat, "h14", ""},
	{"Sort Axis=W", "int32[1,1,3,8,8]", "h14", "sort-format: Sort unit output format must be FP16 or Uint16"},
	{"TopK Axis=W K=3 Results=Both", bottomFloat, "h13", ""},
	{"TopK Axis=W K=3", "int8[1,1,3,8,8]", "h14", "topk-format: TopK unit output format must be FP16 or Uint16"},

	{"PixelShuffle X=2 Y=3", "fp16[1,1,12,4,4]", "h13", ""},
	{"PixelShuffle X=6", "fp16[1,1,12,4,4]", "h17s", "pixel-shuffle-factor: returned invalid: PixelShuffle factor x = 6"},
	{"PixelShuffle Z=2", "fp16[1,1,12,4,4]", "h13", "pixel-shuffle-depth: returned invalid: PixelShuffle factor z = 2"},
	{"PixelUnshuffle X=2 Y=4", bottomFloat, "h13", ""},
	{"PixelUnshuffle Y=5", "fp16[1,1,3,10,8]", "h13", "pixel-unshuffle-factor: returned invalid: PixelUnshuffle factor y = 5"},
	{"PixelUnshuffle Z=2", "fp16[1,2,3,8,8]", "h13", "pixel-unshuffle-depth: PixelUnshuffle on z axis is not supported"},
	{"ChannelToSpace X=6", "fp16[1,1,12,8,8]", "h13", ""},
	{"ChannelToSpace X=5", "fp16[1,1,5,8,8]", "h13", "channel-to-space-factor: Invalid ChannelToSpace factor x = 5"},
	{"ChannelToSpace Z=2", "fp16[1,1,4,8,8]", "h17s", "channel-to-space-depth: ChannelToSpace in z dimension is not supported, current factor.z = 2."},
	{"SpaceToChannel X=2 Y=2", bottomFloat, "h13", ""},
	{"SpaceToChannel Z=2", "fp16[1,2,4,8,8]", "h13", "space-to-channel-depth: SpaceToChannel in z dimension is not supported, current factor.z = 2."},
	{"SpaceToBatch X=2 Y=4", bottomFloat, "h13", ""},
	{"SpaceToBatch X=7", "fp16[1,1,3,8,14]", "h13", "space-to-batch-factor: Invalid SpaceToBatch factor x = 7"},
	{"SpaceToBatch Z=2", "fp16[1,2,3,8,8]", "h13", "space-to-batch-depth: 3d space_to_batch is not supported on ANE"},
	{"BatchToSpace X=2 Y=2", "fp16[8,1,4,4,4]", "h13", ""},
	{"BatchToSpace Z=2", "fp16[8,1,4,4,4]", "h13", "batch-to-space-depth: batch-to-space on z axis is not supported"},

	{"Resize Size=[16,4]", bottomFloat, "h13", ""},
	{"Resize Scale=[1.5,2]", bottomFloat, "h14", ""},
	{"Resize Size=[12,16] Scale=[1.5,2]", bottomFloat, "h14", ""},
	{"Resize Size=[11,16] Scale=[1.5,2]", bottomFloat, "h14", "resize-both: resize height: dimension 11 and ratio 1.5 are both given"},
	{"Resize Size=[16,4]", bottomFloat, "h12", "resize-no-route: failed to map resize layer on this arch"},
	{"ResizeAs", bottomFloat + " fp16[1,1,1,5,6]", "h13", ""},
	{"ResizeAs", bottomFloat + " fp16[1,1,1,5,6]", "h12", "resize-no-route: failed to map resize layer on this arch"},

	{"AffineTransform Size=[4,4]", bottomFloat + " fp16[1,1,1,2,3]", "h13", "affine-texture: affine transform is not supported on this architecture"},
	{"AffineTransform Size=[4,4]", bottomFloat + " fp16[1,1,1,2,3]", "h14", ""},
	{"AffineTransform Size=[4,4]", bottomFloat + " int8[1,1,1,2,3]", "h14", "affine-matrix: affine transform matrix format must be FP16"},
	{"Resample", bottomFloat + " fp16[1,1,2,5,6]", "h14", ""},
	{"Resample", bottomFloat + " fp16[1,1,2,5,6]", "h13", "resample-texture: resample is not supported on this architecture"},
	{"CropResize Size=[4,4]", bottomFloat + " fp16[7,1,4,1,1]", "h13", ""}, // the validator takes it; Codegen does not
	{"CropResize Size=[4,4]", bottomFloat + " int32[7,1,4,1,1]", "h14", "crop-resize-index: Crop Resize index format must be FP16"},

	{"CrossCorrelation Template=[3,13]", "fp16[1,1,1,20,20] fp16[1,1,1,1,39]", "h13", ""},
	{"CrossCorrelation Template=[3,14]", "fp16[1,1,1,20,20] fp16[1,1,1,1,42]", "h13", "cross-correlation-template: Invalid conv kernel width = 14, It should be in [1,13]"},
	{"CrossCorrelation Template=[3,14]", "fp16[1,1,1,20,20] fp16[1,1,1,1,42]", "h17s", ""},
	{"CrossProduct", "fp16[2,1,3,1,1] fp16[2,1,3,1,1]", "h13", ""},
	{"CrossProduct", "fp16[1,1,3,1,8] fp16[1,1,3,1,8]", "h13", "cross-product-extents: CrossProduct operand [1,1,3,1,8], it should be D1 C3 H1 W1"},
	{"CrossProduct", "int8[2,1,3,1,1] int8[2,1,3,1,1]", "h13", "cross-product-format: CrossProduct operands must be FP16"},
	{"CostVolume Range=2", "fp16[1,1,1,8,6] fp16[1,1,1,8,8]", "h13", ""},
	{"FurthestPointSampling Count=1024", "fp16[1,1,3,1,8192]", "h13", ""},
	{"FurthestPointSampling Count=1025", "fp16[1,1,3,1,8192]", "h13", "fps-centroids: FurthestPointSampling CentroidCount = 1025, it should be in [1, 1024]"},
	{"FurthestPointSampling Count=4", "fp16[1,1,3,1,8193]", "h17s", "fps-points: FurthestPointSampling of 8193 points, it should be in [1, 8192]"},
	{"FurthestPointSampling Count=4 Metric=L1", "fp16[1,1,3,1,100]", "h13", "fps-metric: FurthestPointSampling distance metric L1 is not supported on this architecture"},
	{"RadiusSearch Radius=1", "fp16[1,1,3,1,4] fp16[1,1,3,1,100]", "h13", ""},

	{"NMS MaxBoxes=5", "fp16[1,1,1,20,4] fp16[1,1,1,20,3]", "h13", ""}, // the validator takes it; Codegen does not
	{"NMS MaxBoxes=5", "fp16[1,1,1,2049,4] fp16[1,1,1,2049,3]", "h17s", "nms-boxes: NonMaximumSuppression kernel cannot currently run on ANE with more than 2048 input boxes"},
	{"NMS MaxBoxes=5", "int8[1,1,1,20,4] fp16[1,1,1,20,3]", "h17s", "nms-format: NMS output format must be either Float 16 or UInt 16"},

	{"RingBufferWriter Live=[H]", "fp16[1,1,2,8,4] fp16[1,1,2,3,4] int32[1,1,1,1,1]", "h13", ""},
	{"RingBufferWriter Live=[H] Circular=H", "fp16[1,1,2,8,4] fp16[1,1,2,3,4] int32[1,1,1,1,1]", "h13", noCircular},
	{"RingBufferWriter Live=[H] Circular=H", "fp16[1,1,2,8,4] fp16[1,1,2,3,4] int32[1,1,1,1,1]", "h14", ""},
	{"RingBufferWriter Live=[H] Circular=H", "!fp16[1,1,2,8,4] fp16[1,1,2,3,4] int32[1,1,1,1,1]", "h14", `ring-buffer-live-state: RingBufferWriter must connect to a live state buffer, "x0" is none`},
	{"RingBufferReader Size=[1,1,2,3,4]", "fp16[1,1,2,8,4]", "h13", ""},
	{"RingBufferReader Size=[1,1,2,3,4] Circular=H", "fp16[1,1,2,8,4]", "h13", noCircular},

	{"Copy", bottomFloat, "h13", ""},
	{"Alias", bottomFloat, "h13", ""},
	{"TypeCast To=bool", bottomFloat, "h13", ""},
	{"Select", "bool[1,1,1,8,8] " + bottomFloat + " fp16[1,1,1,1,1]", "h13", ""},
}

// rawMoveGates are layers that no shape rule lets into a graph: a validator that
// is handed one says what the compiler does.
var rawMoveGates = []gateCase{
	{"Transpose Perm=[N,D,H,H,C]", bottomFloat, "h13", "transpose-permutation: No duplicate dimension allowed"},
	{"Reshape Dims=[1,1,1,3,65]", bottomFloat, "h13", "reshape-elements: Error: Invalid output dimensions for Reshape unit"},
	{"InputView Axis=W Size=0", bottomFloat, "h13", "input-view-size: InvalidInputViewSize"},
	{"DynamicSlice Axes=[W] Sizes=[0]", bottomFloat + " int32[1,1,1,1,1]", "h17s", "dynamic-slice-size: Invalid dynamic slice size width = 0"},
	{"InputView Axis=W Size=4 Step=0", bottomFloat, "h13", "input-view-step: InvalidInputViewStep"},
	{"PixelShuffle X=2 Y=2", "fp16[1,1,6,4,4]", "h13", "pixel-shuffle-channels: Error: PixelShuffle's channel dimension must be divisible by the product of its factors"},
	{"PixelUnshuffle X=3", bottomFloat, "h13", "pixel-unshuffle-extent: Error: Input dimensions should be divisible by the PixelUnshuffle factor"},
	{"SpaceToBatch X=3", bottomFloat, "h13", "space-to-batch-extent: Error: Input dimensions should be divisible by the SpaceToBatch factor"},
	{"BatchToSpace X=2 Y=4", "fp16[12,1,4,4,4]", "h13", "batch-to-space-batch: Input batch n = 12 is not divisible by factor x = 2 * factor y = 4"},
	{"Resample", bottomFloat + " fp16[1,1,3,5,6]", "h14", "resample-channels: Channel size in coordinates should be 1 or 2"},
	{"Resample", bottomFloat + " fp16[1,2,2,5,6]", "h14", "resample-depth: Depth size in coordinates should be 1"},
	{"CropResize Size=[4,4]", "fp16[2,1,3,8,8] fp16[7,1,4,1,1]", "h14", "crop-resize-batch: Illegal crop_resize batch sizes for index tensor and input tensor"},
	{"CrossCorrelation Template=[3,3] Groups=0", "fp16[1,1,1,20,20] fp16[1,1,1,1,9]", "h13", "cross-correlation-groups: Cross Correlation: Num Groups must be positive"},
	{"CrossCorrelation Template=[3,3]", "fp16[1,1,1,20,20]", "h13", "layer-bottoms: Input size for Cross Correlation layer must be 2"},
	{"SpaceToChannel X=2", bottomFloat + " " + bottomFloat, "h13", "layer-bottoms: SpaceToChannel layer must have only one input"},
	{"Gather Axes=[C]", "_ int32[1,1,5,1,1]", "h13", "layer-bottoms: Gather layer must have 2 inputs"},
	{"CostVolume Range=3", "fp16[1,1,1,8,6] fp16[1,1,1,8,8]", "h13", "cost-volume-width: CostVolume reference width = 8, it should be at least 9"},
	{"RadiusSearch Radius=1", "fp16[1,1,4,1,4] fp16[1,1,4,1,100]", "h13", "radius-search-extents: RadiusSearch operand [1,1,4,1,4], it should be D1 C3 H1"},
	{"NMS MaxBoxes=5", "fp16[1,1,1,20,5] fp16[1,1,1,20,3]", "h13", "nms-box: NMS Boxes channels must be 4"},
	{"NMS MaxBoxes=5", "fp16[1,1,1,20,4] fp16[1,1,2,20,3]", "h13", "nms-batch: NMS Boxes batch must equal Scores batch"},
	{"CrossProduct", "fp16[2,1,3,1,1]x2 fp16[2,1,3,1,1]x2", "h13", "cross-product-interleave: CrossProduct interleave factor = 2, it should be 1"},
}

func TestMoveGates(t *testing.T) {
	accepted, rejected := map[Kind]bool{}, map[Kind]bool{}
	for _, c := range moveGates {
		l, err := shapeCase{layer: c.layer, bottoms: c.bottoms}.build()
		if err != nil {
			t.Errorf("%s (%s): %v", c.layer, c.bottoms, err)
			continue
		}
		c.check(t, l)
		if c.want == "" {
			accepted[l.Kind()] = true
		} else {
			rejected[l.Kind()] = true
		}
	}
	for _, c := range rawMoveGates {
		l, err := c.raw()
		if err != nil {
			t.Errorf("%s (%s): %v", c.layer, c.bottoms, err)
			continue
		}
		c.check(t, l)
		rejected[l.Kind()] = true
	}
	for k := range rejected {
		if !accepted[k] {
			t.Errorf("%v has no accepted case", k)
		}
	}
}

func (c gateCase) check(t *testing.T, l *Layer) {
	t.Helper()
	target, err := hal.Lookup(c.target)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	r := Validate(l, target)
	if r != nil {
		got = string(r.ID) + ": " + r.Text
		if r.Limit == "" || r.Found == "" || r.Remedy == "" || r.Source == "" {
			t.Errorf("%s on %s: not whole: %+v", c.layer, c.target, r)
		}
	}
	if got != c.want {
		t.Errorf("%s (%s) on %s:\ngot  %q\nwant %q", c.layer, c.bottoms, c.target, got, c.want)
	}
	virtual, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	if r := Validate(l, virtual); r != nil {
		t.Errorf("%s on virtual: %v", c.layer, r)
	}
}

// raw makes the layer without asking its shape rule.
func (c gateCase) raw() (*Layer, error) {
	name, fields, _ := strings.Cut(c.layer, " ")
	kind, ok := KindOf(name)
	if !ok {
		return nil, fmt.Errorf("no kind %q", name)
	}
	l := &Layer{Name: "y", Params: NewParams(kind)}
	g := New("case")
	if err := setFields(fields, l.Params, &l.OutputType); err != nil {
		return nil, err
	}
	for i, word := range strings.Fields(c.bottoms) {
		v, err := addBottom(g, fmt.Sprintf("x%d", i), word)
		if err != nil {
			return nil, err
		}
		l.Bottoms = append(l.Bottoms, v)
	}
	return l, nil
}

// Extents that move are held to the target's limit, and only those.
func TestTransposeExtent(t *testing.T) {
	h13, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	target := *h13
	target.Limits.Transpose = 16
	for bottoms, want := range map[string]bool{"fp16[1,1,3,16,8]": true, "fp16[1,1,3,8,17]": false, "fp16[1,1,17,8,8]": true} {
		l, err := shapeCase{layer: "Transpose Perm=[N,D,C,W,H]", bottoms: bottoms}.build()
		if err != nil {
			t.Fatal(err)
		}
		if r := Validate(l, &target); (r == nil) != want {
			t.Errorf("%s: %v", bottoms, r)
		} else if r != nil && (r.ID != "transpose-extent" || r.Text != noTranspose || r.Found != "width = 17") {
			t.Errorf("%s: %+v", bottoms, r)
		}
	}
}

// A chain of writers on a state is one state; what a layer makes is none.
func TestLiveState(t *testing.T) {
	g := New("states")
	state, err := g.AddState("cache", TypeOf(tensor.Float16, 1, 1, 2, 8, 4))
	if err != nil {
		t.Fatal(err)
	}
	update, err := g.AddInput("update", TypeOf(tensor.Float16, 1, 1, 2, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	b := Builder{Graph: g}
	once := b.Layer("once", &RingBufferWriter{}, state.Before, update)
	twice := b.Layer("twice", &RingBufferWriter{}, once, update)
	copied := b.Layer("copied", &Copy{}, twice)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	if !isLiveState(twice) || isLiveState(copied) {
		t.Errorf("twice %t, copied %t", isLiveState(twice), isLiveState(copied))
	}
}
