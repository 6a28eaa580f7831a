package anec

import (
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// A codegenCase is a layer on targets: want are the IDs of the verdicts as a
// converted and as an authored layer, "-" where there is none against it.
type codegenCase struct{ layer, bottoms, targets, converted, authored string }

const (
	topRow    = "fp16[1,1,1,1,64]"
	sixteen   = "fp16[1,1,16,8,8]"
	boxesFor7 = bottomFloat + " fp16[7,1,4,1,1]"
)

var codegenCases = []codegenCase{
	{"TopK Axis=W K=5", topRow, "h13 h13g", "codegen-topk", "codegen-topk"},
	{"TopK Axis=W K=5", topRow, "h14 h15 h16 h17s h18", "-", "-"},
	{"TopK Axis=W K=3", topRow, "h14 h16 h17s", "-", "codegen-topk-band"},
	{"TopK Axis=W K=4", topRow, "h18", "-", "-"},
	{"Sort Axis=W", topRow, "h13", "codegen-sort", "codegen-sort"},
	{"Sort Axis=W", topRow, "h14 h17s", "-", "-"},
	{"DynamicSlice Axes=[W] Sizes=[2]", bottomFloat + " int32[1,1,1,1,1]", "h13", "codegen-dynamic-slice", "codegen-dynamic-slice"},
	{"DynamicSlice Axes=[W] Sizes=[2]", bottomFloat + " int32[1,1,1,1,1]", "h14", "-", "-"},
	{"Conv Kernel=[3,3,3]", "fp16[1,5,3,8,8] !fp16[4,3,3,3,3]", "h13 h14 h17s h18", "codegen-conv3d", "codegen-conv3d"},
	{"Conv Kernel=[1,3,3]", bottomFloat + " !fp16[4,1,3,3,3]", "h13 h17s", "-", "-"},
	{"Conv Kernel=[1,3,3]", bottomFloat + " fp16[4,1,3,3,3]", "h13", "-", "-"},
	{"Conv Kernel=[1,3,3]", "fp16[2,1,3,8,8] fp16[4,1,3,3,3]", "h13 h17s", "codegen-live-kernel", "codegen-live-kernel"},
	{"Conv Kernel=[1,3,3]", "fp16[2,1,3,8,8] !fp16[4,1,3,3,3]", "h13", "-", "-"},
	{"Unflatten Dims=[3,8,8]", "fp16[1,1,192,1,1]", "h13 h17s", "-", "codegen-unflatten"},
	{"LocalResponseNormalization Size=5", bottomFloat, "h13", "-", "-"},
	{"LocalResponseNormalization Size=5", sixteen, "h13 h17s", "-", "codegen-lrn"},
	{"GlobalArgMinMax Axis=H", bottomFloat, "h13 h15", "-", "-"},
	{"Neuron Type=sin", bottomFloat, "h13 h15 h18", "-", "codegen-sine-authored"},
	{"Neuron Type=cos", bottomFloat, "h15", "-", "codegen-sine-authored"},
	{"Neuron Type=atan", bottomFloat, "h13", "-", "-"},
	{"Resample", bottomFloat + " fp16[1,1,2,5,6]", "h17s", "-", "codegen-resample-authored"},
	{"Resample Method=NearestNeighbor", bottomFloat + " fp16[1,1,2,5,6]", "h17s", "-", "-"},
	{"Resample", bottomFloat + " fp16[1,1,2,5,6]", "h14 h18", "-", "-"},
	{"Reduction Type=Sum Axes=W", bottomFloat, "h11 h12", "-", "codegen-before-m1"},
	{"Reduction Type=Sum Axes=W", bottomFloat, "h13", "-", "-"},
	{"Concat Axis=C", bottomFloat + " " + bottomFloat, "h12", "-", "-"},
	{"CropResize Size=[4,4]", boxesFor7, "h13", "codegen-crop-resize", "codegen-crop-resize"},
	{"CropResize Size=[4,4]", boxesFor7, "h14", "-", "-"},
	{"CropResize Size=[4,4]", boxesFor7, "h17s", "-", "codegen-crop-resize-authored"},
	{"Gather Axes=[C]", "fp16[1,1,4096,1,8] int32[1,1,5,1,1]", "h14", "-", "-"},
	{"Gather Axes=[H,W]", "fp16[1,1,3,2048,8] int32[1,1,2,1,5]", "h14", "-", "-"},
	{"Gather Axes=[H,W]", "fp16[1,1,3,2049,8] int32[1,1,2,1,5]", "h14", "codegen-gather-nd", "-"},
	{"Resize Size=[16,4]", bottomFloat, "h13", "-", "-"},
	{"NMS MaxBoxes=5", "fp16[1,1,1,20,4] fp16[1,1,1,20,3]", "h13 h17s h18", "codegen-nms", "codegen-nms"},
	{"MinMaxNormalization Axes=W", bottomFloat, "h13", "-", "-"},
	{"MinMaxNormalization Axes=C", bottomFloat, "h13 h17s", "-", "codegen-minmax-channel"},
	{"RingBufferWriter", "fp16[1,1,2,8,4] fp16[1,1,2,3,4]", "h13 h17s", "-", "codegen-ring-buffer"},
	{"KernelRasterizer Kernel=[1,1]", bottomFloat, "h17s", "-", "-"},
	{"KernelRasterizer Kernel=[3,3]", bottomFloat, "h17s", "-", "codegen-rasterizer"},
	{"NeuronCustom", bottomFloat + " !uint16[1,1,1,1,64]", "h13 h17s", "codegen-custom-table", "codegen-custom-table"},
	{"MatrixDecomposition Type=NonQRGivens RotationAxis=[7]", "fp16[1,1,9,1,1]", "h17s", "codegen-decomposition", "codegen-decomposition"},
	{"PlaneReader", bottomFloat, "h13", "codegen-plane-reader", "codegen-plane-reader"},
	{"PlaneWriter", bottomFloat, "h13", "codegen-plane-writer", "codegen-plane-writer"},
	{"TypeCast To=int32", bottomFloat, "h13 h16 h18", "codegen-int32", "codegen-int32"},
	{"TypeCast To=fp16", "int32[1,1,3,8,8]", "h16", "codegen-int32", "codegen-int32"},
	{"TypeCast To=bool", bottomFloat, "h13", "-", "-"},
	{"ScaledElementWise Type=Mult Scale=2", bottomFloat + " " + bottomFloat, "h17s", "-", "-"},
	{"CrossProduct", "fp16[2,1,3,1,1] fp16[2,1,3,1,1]", "h13", "-", "-"},
	{"CostVolume Range=2", "fp16[1,1,1,8,6] fp16[1,1,1,8,8]", "h13", "-", "-"},
}

// Every verdict is shown, and nothing fails on our own engine.
func TestCodegen(t *testing.T) {
	shown := map[diag.ID]bool{}
	for _, c := range codegenCases {
		l, err := shapeCase{layer: c.layer, bottoms: c.bottoms}.build()
		if err != nil {
			t.Errorf("%s (%s): %v", c.layer, c.bottoms, err)
			continue
		}
		for _, name := range strings.Fields(c.targets + " virtual") {
			target, err := hal.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range []*diag.Finding{Codegen(l, target), CodegenAuthored(l, target)} {
				want := []string{c.converted, c.authored}[i]
				if name == "virtual" {
					want = "-"
				}
				got := "-"
				if r != nil {
					got = string(r.ID)
					shown[r.ID] = true
					if r.Text == "" || r.Limit == "" || r.Found == "" || r.Remedy == "" || r.Source == "" || r.Confidence == 0 || (r.Against != "") != (r.Confidence == diag.Disputed) {
						t.Errorf("%s on %s: not whole: %+v", c.layer, name, r)
					}
				}
				if got != want {
					t.Errorf("%s (%s) on %s, route %v: got %s, want %s", c.layer, c.bottoms, name, []Route{Converted, Authored}[i], got, want)
				}
			}
		}
	}
	subjects := map[string]bool{}
	for _, v := range allVerdicts() {
		if subjects[v.Subject] || v.Subject == "" || v.Text == "" || v.Source == "" || v.Status == hal.Unknown || v.From > v.To {
			t.Errorf("%s stands twice or is not whole: %+v", v.Subject, v)
		}
		subjects[v.Subject] = true
		for _, f := range slices.Concat(v.Seen, v.Disputed) {
			if f < v.From || f > v.To {
				t.Errorf("%s was seen on family %v, which it is not about", v.Subject, f)
			}
		}
		if (v.ID != "") != (v.Fails || v.StandIn) || v.StandIn && v.ID != diag.StandIn {
			t.Errorf("%s: the ID is %q", v.Subject, v.ID)
		}
		if v.Fails && !shown[v.ID] {
			t.Errorf("%s is not shown", v.ID)
		}
		if v.Fails && v.Remedy == "" {
			t.Errorf("%s says not what to write instead", v.ID)
		}
		if (v.Disputed != nil) != (v.Against != "") {
			t.Errorf("%s: disputed on %v, against it: %q", v.Subject, v.Disputed, v.Against)
		}
	}
}

// TestStandIns: where software takes the place of a layer, and that its row says so.
func TestStandIns(t *testing.T) {
	for _, c := range []struct{ layer, bottoms, targets, want string }{
		{"Resize Size=[16,4]", bottomFloat, "h13 h13g", "resize on M1"},
		{"Resize Size=[16,4]", bottomFloat, "h12 h14 virtual", ""},
		{"Gather Axes=[C,H,W]", "fp16[1,1,3,8,8] int32[1,1,3,5,1]", "h13", "gather along several axes on M1"},
		{"Gather Axes=[H]", "fp16[1,1,3,8,8] int32[1,1,1,5,1]", "h13", ""},
		{"Padding Mode=Reflective Before=[0,0,0,1,1]", bottomFloat, "h13", "padding with mirrored elements on M1"},
		{"Padding Mode=Zero Before=[0,0,0,1,1]", bottomFloat, "h13", ""},
		{"Padding Mode=Reflective Before=[0,0,0,1,1]", bottomFloat, "h14", ""},
	} {
		l, err := shapeCase{layer: c.layer, bottoms: c.bottoms}.build()
		if err != nil {
			t.Errorf("%s: %v", c.layer, err)
			continue
		}
		for _, name := range strings.Fields(c.targets) {
			target, err := hal.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if v := StandInFor(l, target, Converted); v != nil {
				got = v.Subject
				if v.Fails {
					t.Errorf("%s fails and stands in", v.Subject)
				}
				if r := Validate(l, target); r != nil && r.ID != v.Lifts {
					t.Errorf("%s on %s: %v", c.layer, name, r)
				}
			}
			if got != c.want {
				t.Errorf("%s on %s: %q, want %q", c.layer, name, got, c.want)
			}
		}
	}
}

// The validators take what then fails: that is what the table is for.
func TestAttestedIsNotReachable(t *testing.T) {
	h13, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range codegenCases {
		switch c.converted {
		case "codegen-topk", "codegen-sort", "codegen-dynamic-slice", "codegen-conv3d", "codegen-crop-resize", "codegen-nms":
		default:
			continue
		}
		l, err := shapeCase{layer: c.layer, bottoms: c.bottoms}.build()
		if err != nil {
			t.Fatal(err)
		}
		if r := Validate(l, h13); r != nil {
			t.Errorf("%s is rejected before: %v", c.layer, r)
		}
	}
}

// exportedKinds are those of which Apple's compiler exports a validator.
func exportedKinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k.Info().Desc == "" })
}

func allVerdicts() (all []CodegenVerdict) {
	for _, k := range Kinds() {
		all = append(all, k.Info().Codegen...)
	}
	return all
}

// Whatever the shape rules let in, every target has an answer to it, and rejects
// are whole.
func TestGatesAnswer(t *testing.T) {
	for _, c := range shapeCases {
		l, err := c.build()
		if err != nil {
			continue
		}
		for _, target := range hal.Targets() {
			for _, r := range []*diag.Finding{Validate(l, target), Codegen(l, target), CodegenAuthored(l, target)} {
				if r == nil {
					continue
				}
				if r.ID == "" || r.Text == "" || r.Limit == "" || r.Found == "" || r.Remedy == "" || r.Source == "" {
					t.Errorf("%s on %s: not whole: %+v", c.layer, target.Name, r)
				}
				if target.Family == hal.Virtual {
					t.Errorf("%s: virtual rejects it: %v", c.layer, r)
				}
			}
		}
	}
}
