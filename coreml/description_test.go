package coreml

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/espalier-ane/espalier/tensor"
)

// Every kind of feature, in a file that Google's encoder wrote (testdata/make.py).
func TestFeatures(t *testing.T) {
	m := open(t, "testdata/features.mlmodel")
	if m.Format != Specification || m.SpecificationVersion != 10 || m.Type.String() != "neuralNetworkClassifier" || !m.Updatable {
		t.Errorf("got %v of version %d, type %v, updatable %v", m.Format, m.SpecificationVersion, m.Type, m.Updatable)
	}
	wantMetadata := Metadata{
		ShortDescription: "Every kind of feature", Version: "1.2", Author: "An author", License: "A licence",
		UserDefined: map[string]string{"key": "value", "empty": ""},
	}
	if !reflect.DeepEqual(m.Description.Metadata, wantMetadata) {
		t.Errorf("got metadata %+v", m.Description.Metadata)
	}
	fn := m.Description.Function("")
	if fn.Name != "main" || fn.PredictedFeature != "label" || fn.PredictedProbabilities != "probabilities" {
		t.Errorf("got function %q, which predicts %q and %q", fn.Name, fn.PredictedFeature, fn.PredictedProbabilities)
	}
	number := func(v float64) *float64 { return &v }
	image := func(c ColorSpace) *ImageType { return &ImageType{Width: 8, Height: 6, ColorSpace: c} }
	withSizes, withRange := image(RGB), image(RGB)
	withSizes.Sizes = []ImageSize{{8, 6}, {16, 12}}
	withRange.Range = &ImageSizeRange{Width: Range{4, 64}, Height: Range{6, Unbounded}}
	want := []Feature{
		{Name: "int64", Type: &Int64Type{}, Description: "a whole number"},
		{Name: "double", Type: &DoubleType{}},
		{Name: "string", Type: &StringType{}},
		{Name: "f16", Type: &ArrayType{DType: tensor.Float16, Shape: []int{1, 2}}},
		{Name: "f32", Type: &ArrayType{DType: tensor.Float32, Shape: []int{1, 2}}},
		{Name: "f64", Type: &ArrayType{DType: tensor.Float64, Shape: []int{1, 2}}},
		{Name: "i32", Type: &ArrayType{DType: tensor.Int32, Shape: []int{1, 2}}},
		{Name: "i8", Type: &ArrayType{DType: tensor.Int8, Shape: []int{1, 2}}},
		{Name: "enumerated", Type: &ArrayType{DType: tensor.Float32, Shape: []int{1, 3}, Shapes: [][]int{{1, 3}, {2, 3}, {4}}}},
		{Name: "ranged", Type: &ArrayType{DType: tensor.Float16, Shape: []int{1, 4}, Ranges: []Range{{1, 1}, {2, Unbounded}}}},
		{Name: "int default", Type: &ArrayType{DType: tensor.Float32, Shape: []int{2}, Default: number(-3)}, Optional: true},
		{Name: "float default", Type: &ArrayType{DType: tensor.Float32, Shape: []int{2}, Default: number(0.5)}, Optional: true},
		{Name: "double default", Type: &ArrayType{DType: tensor.Float32, Shape: []int{2}, Default: number(1e300)}, Optional: true},
		{Name: "gray", Type: image(Grayscale)},
		{Name: "rgb", Type: image(RGB)},
		{Name: "bgr", Type: image(BGR)},
		{Name: "gray16", Type: image(GrayscaleFloat16)},
		{Name: "sizes", Type: withSizes},
		{Name: "size range", Type: withRange},
		{Name: "by int64", Type: &DictType{&Int64Type{}}},
		{Name: "by string", Type: &DictType{&StringType{}}},
		{Name: "int64s", Type: &SequenceType{Elem: &Int64Type{}, Length: Range{0, Unbounded}}},
		{Name: "strings", Type: &SequenceType{Elem: &StringType{}, Length: Range{1, 9}}},
	}
	compare(t, "input", fn.Inputs, want)
	compare(t, "output", fn.Outputs, []Feature{
		{Name: "label", Type: &StringType{}},
		{Name: "probabilities", Type: &DictType{&StringType{}}},
		{Name: "unshaped", Type: &ArrayType{DType: tensor.Float32}},
	})
	compare(t, "state", fn.States, []Feature{{Name: "memory", Type: &StateType{&ArrayType{DType: tensor.Float16, Shape: []int{1, 8}}}}})
	compare(t, "training input", m.Description.TrainingInputs, []Feature{{Name: "truth", Type: &ArrayType{DType: tensor.Float32, Shape: []int{1}}}})
	if u := m.Unknown(); len(u) > 0 {
		t.Errorf("there are unknown fields: %+v", u)
	}
}

func compare(t *testing.T, what string, got, want []Feature) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("there are %d %ss, want %d", len(got), what, len(want))
	}
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s %d is %s %v (%+v), want %s %v (%+v)", what, i, got[i].Name, got[i].Type, got[i], want[i].Name, want[i].Type, want[i])
		}
	}
}

func TestFunctionDescriptions(t *testing.T) {
	m := open(t, "testdata/functions.mlmodel")
	d := m.Description
	if len(d.Functions) != 2 || d.DefaultFunction != "second" || d.Function("").Name != "second" || d.Function("main") != nil {
		t.Fatalf("got functions %+v, default %q", d.Functions, d.DefaultFunction)
	}
	first := d.Function("first")
	if len(first.Inputs) != 1 || len(first.Outputs) != 1 || len(first.States) != 1 || first.PredictedFeature != "y" {
		t.Errorf("got function %+v", first)
	}
	p, err := m.Program()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"first", "second"} {
		fn := p.Functions[i]
		if fn.Name != name || fn.Opset != "CoreML8" || len(fn.Body.Outputs) != 1 || fn.Body.Outputs[0] != fn.Inputs[0] {
			t.Errorf("got function %s of opset %s that gives %v", fn.Name, fn.Opset, fn.Body.Outputs)
		}
	}
}

func TestModelTypes(t *testing.T) {
	for number, name := range typeNames {
		m, err := decodeModel(&modelFile{}, message{join(number32(number), sub(2), sub(protowire.Number(number))), 0}, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Type.String() != name {
			t.Errorf("type %d is %v, want %s", number, m.Type, name)
		}
		if back, ok := typeNamed(name); !ok || back != number {
			t.Errorf("%s is %d, want %d", name, back, number)
		}
	}
	if len(typeNames) != 37 { // the members of the alternative in Model.proto
		t.Errorf("there are %d types", len(typeNames))
	}
	m, err := decodeModel(&modelFile{}, message{join(sub(2), sub(4321)), 0}, 0)
	if err != nil || m.Type.String() != "model type 4321" {
		t.Errorf("a type of the future: got %v, %v", m, err)
	}
}

func number32(t Type) []byte { return number(1, int64(t)) }

func TestPipelineClassifier(t *testing.T) {
	m := open(t, "testdata/pipeline_classifier.mlmodel")
	if m.Type != PipelineClassifier || len(m.Stages) != 2 {
		t.Fatalf("got %v with stages %+v", m.Type, m.Stages)
	}
	for i, want := range []struct{ name, modelType, input string }{{"scale", "scaler", "x"}, {"decide", "treeEnsembleClassifier", "scaled"}} {
		s := m.Stages[i]
		if s.Name != want.name || s.Model.Type.String() != want.modelType || s.Model.Description.Function("").Inputs[0].Name != want.input {
			t.Errorf("stage %d is %s of type %v", i, s.Name, s.Model.Type)
		}
	}
	if _, err := m.CheckWeights(); err != nil {
		t.Error(err)
	}
}

func TestBadDescriptions(t *testing.T) {
	feature := func(typ ...[]byte) []byte { return sub(2, sub(1, text(1, "x"), sub(3, typ...))) }
	arrayOf := func(parts ...[]byte) []byte { return feature(sub(5, parts...)) }
	imageOf := func(parts ...[]byte) []byte { return feature(sub(4, parts...)) }
	network := sub(500)
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"nothing", nil, []string{"no model type"}},
		{"no description", network, []string{"description", "no description"}},
		{"no type", join(number(1, 6), sub(2)), []string{"no model type"}},
		{"two types", join(sub(2), network, sub(502)), []string{"mlProgram", "second type, after neuralNetwork at byte 0x2"}},
		{"two descriptions", join(sub(2), sub(2), network), []string{"description", "second time"}},
		{"wrong wire type", join(number(2, 1), network), []string{"description", "wire type varint, expected bytes"}},
		{"version as text", join(text(1, "6"), sub(2), network), []string{"specificationVersion", "wire type bytes, expected varint"}},
		{"feature without a name", join(sub(2, sub(1, sub(3, sub(1)))), network), []string{"description.input[0].name"}},
		{"feature without a type", join(sub(2, sub(1, text(1, "x"))), network), []string{"description.input[x].type"}},
		{"feature of an unknown type", join(feature(sub(77)), network), []string{"description.input[x].type", "no type that is known"}},
		{"feature of two types", join(feature(sub(1), sub(2)), network), []string{"description.input[x].type.doubleType", "twice"}},
		{"two features", join(sub(2, sub(10, text(1, "y"), sub(3, sub(1))), sub(10, text(1, "y"), sub(3, sub(1)))), network), []string{"description.output[y]", "two features"}},
		{"name not UTF-8", join(sub(2, sub(1, text(1, "\xff"), sub(3, sub(1)))), network), []string{"description.input[0].name", "UTF-8"}},
		{"element type", join(arrayOf(number(2, 99)), network), []string{"description.input[x].type.multiArrayType.dataType", "99"}},
		{"negative length", join(arrayOf(packed(1, 2, -1)), network), []string{"multiArrayType.shape", "-1 is not a possible length"}},
		{"product overflows", join(arrayOf(packed(1, 1<<40, 1<<40)), network), []string{"multiArrayType.shape", "more elements than any memory"}},
		{"shape cut off", join(arrayOf(sub(1, []byte{0x80})), network), []string{"multiArrayType.shape", "cut off"}},
		{"enumerated shape overflows", join(arrayOf(sub(21, sub(1, packed(1, 1<<40, 1<<40)))), network), []string{"enumeratedShapes.shapes[0]", "more elements"}},
		{"both flexibilities", join(arrayOf(sub(21), sub(31)), network), []string{"multiArrayType", "both"}},
		{"range upside down", join(arrayOf(sub(31, sub(1, number(1, 5), number(2, 4)))), network), []string{"shapeRange.sizeRanges", "before its start"}},
		{"color space", join(imageOf(number(3, 77)), network), []string{"imageType.colorSpace", "77"}},
		{"negative width", join(imageOf(number(1, -1)), network), []string{"imageType.width", "-1"}},
		{"both sizes", join(imageOf(sub(21), sub(31)), network), []string{"imageType", "both"}},
		{"dictionary without keys", join(feature(sub(6)), network), []string{"dictionaryType", "keys"}},
		{"dictionary with two keys", join(feature(sub(6, sub(1), sub(2))), network), []string{"dictionaryType.stringKeyType", "twice"}},
		{"sequence without elements", join(feature(sub(7)), network), []string{"sequenceType", "elements"}},
		{"state of nothing", join(feature(sub(8)), network), []string{"stateType", "missing"}},
		{"function without a name", join(sub(2, sub(20)), network), []string{"description.functions[0].name"}},
		{"function twice", join(sub(2, sub(20, text(1, "f")), sub(20, text(1, "f"))), network), []string{"description.functions", `"f" is described twice`}},
		{"no such default", join(sub(2, sub(20, text(1, "f")), text(21, "g")), network), []string{"defaultFunctionName", `"g"`}},
		{"no default of two", join(sub(2, sub(20, text(1, "f")), sub(20, text(1, "g"))), network), []string{"defaultFunctionName"}},
		{"features twice", join(sub(2, sub(20, text(1, "f")), sub(1, text(1, "x"), sub(3, sub(1)))), network), []string{"both for the model and for its functions"}},
		{"metadata cut off", join(sub(2, sub(100, []byte{0x0a, 9})), network), []string{"description.metadata", "cut off"}},
		{"names of a pipeline", join(sub(2), sub(202, text(2, "a"))), []string{"pipeline.names", "1 names for 0 models"}},
		{"stage", join(sub(2), sub(202, sub(1, number(1, 6)))), []string{"pipeline.models[0]", "no model type"}},
	} {
		_, err := decodeModel(&modelFile{}, message{c.data, 0}, 0)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		t.Run(c.name, func(t *testing.T) { wantFormatError(t, err, c.want...) })
	}
}

func TestNestedPipelines(t *testing.T) {
	model := join(sub(2), sub(500))
	for range maxPipelineDepth + 1 {
		model = join(sub(2), sub(202, sub(1, model)))
	}
	_, err := decodeModel(&modelFile{}, message{model, 0}, 0)
	wantFormatError(t, err, "nested more than 16 deep", strings.Repeat("pipeline.models[0].", maxPipelineDepth)+"pipeline")
}

// Repeated numbers may be packed or not.
func TestUnpackedShape(t *testing.T) {
	m, err := decodeModel(&modelFile{}, message{join(sub(2, sub(1, text(1, "x"), sub(3, sub(5, number(1, 2), packed(1, 3, 4), number(1, 5))))), sub(500)), 0}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Description.Function("").Inputs[0].Type.(*ArrayType).Shape; !slices.Equal(got, []int{2, 3, 4, 5}) {
		t.Errorf("got shape %v", got)
	}
}

func TestAdmits(t *testing.T) {
	array := func(shape []int, shapes [][]int, ranges []Range) *ArrayType {
		return &ArrayType{Shape: shape, Shapes: shapes, Ranges: ranges}
	}
	for _, c := range []struct {
		t     *ArrayType
		shape []int
		want  bool
	}{
		{array([]int{1, 2}, nil, nil), []int{1, 2}, true},
		{array([]int{1, 2}, nil, nil), []int{2, 1}, false},
		{array([]int{1, 2}, nil, nil), []int{1, 2, 1}, false},
		{array(nil, nil, nil), []int{7}, true},
		{array([]int{1}, [][]int{{2}, {3, 3}}, nil), []int{3, 3}, true},
		{array([]int{1}, [][]int{{2}, {3, 3}}, nil), []int{1}, true},
		{array([]int{1}, [][]int{{2}, {3, 3}}, nil), []int{4}, false},
		{array([]int{1, 1}, nil, []Range{{1, 1}, {1, Unbounded}}), []int{1, math.MaxInt}, true},
		{array([]int{1, 1}, nil, []Range{{1, 1}, {1, 8}}), []int{1, 9}, false},
		{array([]int{1, 1}, nil, []Range{{1, 1}, {1, 8}}), []int{1, 0}, false},
		{array([]int{1, 1}, nil, []Range{{1, 1}, {1, 8}}), []int{1}, false},
	} {
		if got := c.t.Admits(c.shape); got != c.want {
			t.Errorf("%v admits %v: %v, want %v", c.t, c.shape, got, c.want)
		}
	}
	i := &ImageType{Width: 8, Height: 6, Range: &ImageSizeRange{Range{1, 16}, Range{1, 4}}}
	for size, want := range map[ImageSize]bool{{8, 6}: true, {16, 4}: true, {16, 6}: false, {0, 1}: false} {
		if got := i.Admits(size.Width, size.Height); got != want {
			t.Errorf("%v admits %v: %v", i, size, got)
		}
	}
	for c, want := range map[ColorSpace]int{Grayscale: 1, RGB: 3, BGR: 3, GrayscaleFloat16: 1, 0: 0} {
		if got := c.Channels(); got != want {
			t.Errorf("%v has %d channels, want %d", c, got, want)
		}
	}
}
