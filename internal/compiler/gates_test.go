package compiler

import (
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A gateCase is a row of the guide's tables of gates: a model, or a layer where MIL cannot say it, that meets the gate
// on a target.
type gateCase struct {
	row string // of table 22.5 (feature gates) or of appendix B (validator gates)
	on  string

	model    *oneModel
	layer    *anec.Layer
	authored bool // the gate stands on that route alone

	id, text string // the finding's; the text is how it begins
}

// converted is a case of a model; without arguments, of the model of the matrix.
func converted(row, on, id, text, kind string, args mil.Args) gateCase {
	m := &oneModel{kind: kind, args: args}
	for _, of := range oneModels() {
		if of.kind != kind {
			continue
		}
		if m.outs = of.outs; args == nil {
			*m = of
		}
	}
	return gateCase{row: row, on: on, model: m, id: id, text: text}
}

// layered is a case of a layer.
func layered(row, on, id, text string, p anec.Params, bottoms ...*anec.Value) gateCase {
	return gateCase{row: row, on: on, layer: looseLayer(p, bottoms...), id: id, text: text}
}

// authored is a case of a layer of a network description.
func authored(row, on, id, text string, p anec.Params, bottoms ...*anec.Value) gateCase {
	c := layered(row, on, id, text, p, bottoms...)
	c.authored = true
	return c
}

// looseLayer is a layer in no graph; one with bottoms that its kind does not take has no tops.
func looseLayer(p anec.Params, bottoms ...*anec.Value) *anec.Layer {
	l := &anec.Layer{Name: "l", Params: p, Bottoms: bottoms}
	types, _ := l.TopTypes()
	for _, t := range types {
		l.Tops = append(l.Tops, &anec.Value{Name: "y", Type: t, Def: l})
	}
	return l
}

func surfaceOf(dims ...int) *anec.Value {
	return &anec.Value{Name: "x", Type: anec.TypeOf(tensor.Float16, dims...)}
}

var plane = surfaceOf(1, 1, 8, 16, 16)

var gateCases = []gateCase{
	// Table 22.5.
	converted("22.5 softmax", "h12", "softmax-capability", "Softmax is not supported by this ANE architecture", "softmax", nil),
	converted("22.5 instance norm", "h12", "instancenorm-capability", "InstanceNorm layer not supported for this ANE architecture", "instance_norm", nil),
	layered("22.5 dropout", "h14", "dropout-capability", "Dropout layer is not supported on this architecture.", &anec.Dropout{Rate: 0.5}, plane),
	converted("22.5 random", "h14", "random-capability", "Random layer is not supported on this architecture.", "random_uniform", nil),
	converted("22.5 affine transform", "h13", "affine-texture", "affine transform is not supported on this architecture", "affine", nil),
	converted("22.5 resize", "h12", "resize-no-route", "failed to map resize layer on this arch", "resize", nil),
	converted("22.5 resize", "h13", "stand-in", "resize on M1: runs by software", "resize", nil),
	converted("22.5 resample", "h13", "resample-texture", "", "resample", nil),
	authored("22.5 padding mode", "h13", "pad-mode", "Architecture does not support padding mode.", &anec.Padding{Mode: td.PadReflective, Before: anec.Dims{4: 1}}, plane),
	converted("22.5 padding mode", "h13", "stand-in", "padding with mirrored elements on M1", "pad", mil.Args{"x": image, "pad": []int32{1, 1, 1, 1}, "mode": "reflect"}),
	layered("22.5 dynamic gain-offset control", "m9", "dynamicgoc-capability", "DynamicGOC is not supported", &anec.DynamicGOC{}, plane, surfaceOf(1, 1, 8, 1, 1), nil),
	converted("22.5 three-dimensional convolution", "h13", "codegen-conv3d", "Some ops are not supported on any of the specified backends", "conv",
		mil.Args{"x": half(1, 8, 4, 16, 16), "weight": weight(16, 8, 3, 3, 3)}),

	// Appendix B, validator gates.
	layered("B SDPA", "h13", "sdpa-inputs", "SDPA layer must have only 4 or 5(optional mask) inputs", &anec.SDPA{}, plane, plane),
	converted("B Conv", "h13", "conv-kernel-range", "Invalid conv kernel", "conv", mil.Args{"x": half(1, 8, 64, 64), "weight": weight(16, 8, 33, 33)}),
	layered("B MatrixMult", "h13", "matmul-depth", "depth > 1 is not supported for MatMult", &anec.MatMul{}, surfaceOf(1, 2, 1, 4, 8), surfaceOf(1, 2, 1, 8, 4)),
	layered("B Linear", "h13", "linear-inputs", "Linear layer must have only one single input.", &anec.Linear{Axis: anec.W}, plane, plane, plane),
	layered("B Pool", "h12", "pool-mode", "Pooling mode", &anec.Pooling{Type: td.PoolKind(td.PoolL2 + 1)}, plane),
	converted("B Neuron", "h13", "neuron-mode", "This platform doesn't support Neuron", "sin", nil),
	layered("B Reduction", "h13", "reduction-square", "square operation after reduction is not supported", &anec.Reduction{Type: td.ReduceSum, Axes: td.AxesOf(anec.W), Square: true}, plane),
	converted("B Softmax", "h12", "softmax-capability", "Softmax is not supported by this ANE architecture", "softmax", nil),
	layered("B LayerNorm", "h13", "layernorm-depth", "... does not yet support depth > 1", &anec.LayerNorm{Axes: td.AxesOf(anec.C), Groups: 2}, surfaceOf(1, 2, 8, 4, 4), nil, nil),
	converted("B InstanceNorm", "h12", "instancenorm-capability", "InstanceNorm layer not supported for this ANE architecture", "instance_norm", nil),
	layered("B MinMaxNorm", "h12", "minmaxnorm-capability", "", &anec.MinMaxNorm{Axes: td.AxesOf(anec.W)}, plane),
	layered("B MinMaxNorm", "h13", "minmaxnorm-axes", "", &anec.MinMaxNorm{Axes: td.AxesOf(anec.C)}, plane),
	converted("B LRN", "h12", "lrn-capability", "LRN is not supported on this architecture.", "local_response_norm", nil),
	authored("B LRN", "h13", "codegen-lrn", "", &anec.LRN{Size: 5, Alpha: 1, Beta: 1, K: 1}, surfaceOf(1, 1, 16, 8, 8)),
	layered("B ArgMinMax", "h13", "argminmax-inputs", "ArgMinMax layer must have one input", &anec.ArgMinMax{}, plane, plane),
	converted("B GlobalArgMinMax", "h12", "globalargminmax-capability", "", "reduce_argmin", nil),
	converted("B GlobalArgMinMax", "h13", "minimum-family", "reduce_argmin is native on M3, A16 or later", "reduce_argmin", nil),
	converted("B Transpose", "h12", "transpose-channel-factors", "NE Input Transpose is not supported for this arch", "transpose", nil),
	layered("B Concat", "h13", "layer-bottoms", "Concat layer must have at least 2 inputs", &anec.Concat{Axis: anec.C}, plane),
	converted("B Pad", "h13", "pad-channel", "Channel padding is not supported on ANE", "pad", mil.Args{"x": image, "pad": []int32{1, 1, 0, 0, 0, 0}}),
	layered("B Broadcast", "h13", "broadcast-depth", "Broadcast along depth axis is not supported on this architecture", &anec.Broadcast{Dims: anec.Dims{1, 4, 8, 16, 16}}, plane),
	converted("B Gather", "h13", "gather-envelope", "Cannot decompose layer on this architecture", "gather",
		mil.Args{"x": half(2, 16, 64), "indices": mil.Tensor(tensor.Int16, 2, 4), "axis": 1, "batch_dims": 1}),
	converted("B PixelShuffle", "h13", "pixel-shuffle-factor", "returned invalid:", "pixel_shuffle", mil.Args{"x": half(1, 25, 4, 4), "upscale_factor": 5}),
	converted("B PixelUnshuffle", "h13", "pixel-unshuffle-factor", "returned invalid:", "pixel_unshuffle", mil.Args{"x": half(1, 8, 10, 10), "downscale_factor": uint32(5)}),
	converted("B SpaceToBatch", "h13", "space-to-batch-factor", "", "space_to_batch", mil.Args{"x": half(1, 8, 10, 10), "block_shape": []int32{5, 5}, "paddings": tensor.New(tensor.Int32, 2, 2)}),
	layered("B BatchToSpace", "h13", "batch-to-space-batch", "Input batch n = 3 is not divisible by factor x = 2 * factor y = 2",
		&anec.BatchToSpace{Factors: anec.Factors{X: 2, Y: 2, Z: 1}}, surfaceOf(3, 1, 8, 4, 4)),
	layered("B ChannelToSpace", "h13", "channel-to-space-depth", "ChannelToSpace in z dimension is not supported, current factor.z = 2.",
		&anec.ChannelToSpace{Factors: anec.Factors{X: 1, Y: 1, Z: 2}}, plane),
	converted("B Resize", "h12", "resize-no-route", "failed to map resize layer on this arch", "resize", nil),
	converted("B CropResize", "h13", "codegen-crop-resize", "Codegen Error: Invalid Texture CropCfg", "crop_resize", nil),
	converted("B AffineTransform", "h13", "affine-texture", "affine transform is not supported on this architecture", "affine", nil),
	layered("B Resample", "h14", "resample-channels", "Channel size in coordinates should be 1 or 2", &anec.Resample{}, plane, surfaceOf(1, 1, 3, 8, 8)),
	converted("B Sort", "h13", "codegen-sort", "", "argsort", nil),
	converted("B TopK", "h13", "codegen-topk", "", "topk", nil),
	authored("B TopK", "h17s", "codegen-topk-band", "", &anec.TopK{K: 4, Sorting: anec.Sorting{Axis: anec.W}}, plane),
	layered("B Dropout", "h14", "dropout-capability", "Dropout layer is not supported on this architecture.", &anec.Dropout{Rate: 0.5}, plane),
	converted("B Random", "h14", "random-capability", "Random layer is not supported on this architecture.", "random_uniform", nil),
	layered("B RingBufferWriter", "h14", "ring-buffer-live-state", "", &anec.RingBufferWriter{Circular: td.AxesOf(anec.W)}, looseLayer(&anec.Neuron{Type: 1}, plane).Tops[0], plane),
	layered("B RingBufferWriter", "h13", "ring-buffer-circular", "Circular buffer is not supported on this architecture", &anec.RingBufferWriter{Circular: td.AxesOf(anec.W)}, plane, plane),
	layered("B NMS", "h13", "codegen-nms", "Some ops are not supported on any of the specified backends", &anec.NMS{MaxBoxes: 4}, surfaceOf(1, 1, 1, 16, 4), surfaceOf(1, 1, 1, 16, 3)),
	converted("B NMS", "h13", "no-code-generation", "", "non_maximum_suppression", nil),
}

// converted is what the gates of the conversion route say to the layer.
func (c *gateCase) converted(on *hal.Target) *diag.Finding {
	g := anec.New("gate")
	for _, b := range c.layer.Bottoms {
		if b != nil && b.Def != nil {
			g.Layers = append(g.Layers, b.Def)
		}
	}
	g.Layers = append(g.Layers, c.layer)
	r, _ := (&Examined{Op: &mil.Operation{}, Layers: g}).gates(on, anec.Converted)
	return r
}

// TestGates: every gate of the guide's two tables shows in a verdict, with its ID and the compiler's string.
func TestGates(t *testing.T) {
	for _, c := range gateCases {
		t.Run(c.row+" "+c.id, func(t *testing.T) {
			target := lookup(t, c.on)
			var id, text string
			switch {
			case c.model != nil:
				v := c.model.verdictOf(t, c.model.examine(t), target)
				if v.Finding == nil {
					t.Fatalf("%v on the %v, and nothing found", v.Status, v.Backend)
				}
				id, text = string(v.Finding.ID), v.Finding.Text
			default:
				route := c.converted
				if c.authored {
					if r := c.converted(target); r != nil {
						t.Errorf("the converted layer is rejected too: %v", r)
					}
					route = func(on *hal.Target) *diag.Finding {
						return anec.Gate(c.layer, on, anec.Authored)
					}
				}
				r := route(target)
				if r == nil {
					t.Fatal("accepted")
				}
				id, text = string(r.ID), r.Text
			}
			if id != c.id || !strings.HasPrefix(text, c.text) {
				t.Errorf("got %s: %q\nwant %s: %q", id, text, c.id, c.text)
			}
		})
	}
}

// The rows of the two tables, so that none is left out.
func TestGatesAreWhole(t *testing.T) {
	rows := strings.Split("22.5 softmax,22.5 instance norm,22.5 dropout,22.5 random,22.5 affine transform,22.5 resize,22.5 resample,22.5 padding mode,"+
		"22.5 dynamic gain-offset control,22.5 three-dimensional convolution,"+
		"B SDPA,B Conv,B MatrixMult,B Linear,B Pool,B Neuron,B Reduction,B Softmax,B LayerNorm,B InstanceNorm,B MinMaxNorm,B LRN,B ArgMinMax,"+
		"B GlobalArgMinMax,B Transpose,B Concat,B Pad,B Broadcast,B Gather,B PixelShuffle,B PixelUnshuffle,B SpaceToBatch,B BatchToSpace,B ChannelToSpace,"+
		"B Resize,B CropResize,B AffineTransform,B Resample,B Sort,B TopK,B Dropout,B Random,B RingBufferWriter,B NMS", ",")
	for _, row := range rows {
		if !slices.ContainsFunc(gateCases, func(c gateCase) bool { return c.row == row }) {
			t.Errorf("%s has no case", row)
		}
	}
	for _, c := range gateCases {
		if !slices.Contains(rows, c.row) {
			t.Errorf("%s is no row", c.row)
		}
	}
}
