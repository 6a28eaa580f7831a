package coreml

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

const compiledText = `program(1.0)
{
    func main<ios16>(tensor<fp16, [4]> x) {
            tensor<fp16, [4]> w = const()[name = tensor<string, []>("w"), val = tensor<fp16, [4]>(BLOBFILE(path = tensor<string, []>("@model_path/weights/weight.bin"), offset = tensor<uint64, []>(64)))];
        } -> (w);
}
`

// compiledBytes is a coremldata.bin.
func compiledBytes(t Type, version int, target string, description ...[]byte) string {
	b := make([]byte, 28)
	binary.LittleEndian.PutUint32(b, uint32(t))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(target)))
	b = append(b, target...)
	b = binary.LittleEndian.AppendUint64(b, uint64(version))
	b = append(b, make([]byte, 24)...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(join(description...))))
	b = append(b, join(description...)...)
	return string(append(b, "more"...))
}

var halvesFeature = join(text(1, "x"), sub(3, sub(5, packed(1, 4), number(2, 65552))))

// metadataText describes a program, as the compiler of Core ML does for people.
const metadataText = `[{
	"metadataOutputVersion": "3.0", "specificationVersion": 7, "isUpdatable": "0",
	"modelType": {"name": "MLModelType_mlProgram"},
	"author": "An author", "license": "A licence", "version": "3", "shortDescription": "A model",
	"userDefinedMetadata": {"key": "value"},
	"inputSchema": [
		{"name": "a", "type": "MultiArray", "dataType": "Float16", "shape": "[1, 10]", "isOptional": "1", "hasShapeFlexibility": "0", "shortDescription": "first"},
		{"name": "b", "type": "MultiArray", "dataType": "Int32", "shape": "[1, 4]", "isOptional": "0", "hasShapeFlexibility": "1", "shapeRange": "[[1, 1], [2, -1]]", "shapeFlexibility": "1 × 2..."},
		{"name": "c", "type": "MultiArray", "dataType": "Double", "shape": "[3]", "isOptional": "0", "hasShapeFlexibility": "1", "enumeratedShapes": "[[3], [5, 6]]", "shapeFlexibility": "3 | 5 × 6"},
		{"name": "d", "type": "Image", "width": "8", "height": "6", "colorspace": "BGR", "isColor": "1", "hasSizeFlexibility": "0"},
		{"name": "e", "type": "Image", "width": "8", "height": "6", "colorspace": "Grayscale16Half", "isColor": "0", "hasSizeFlexibility": "1", "sizeRange": "[[1, 8], [1, -1]]"},
		{"name": "f", "type": "Image", "width": "8", "height": "6", "colorspace": "Grayscale", "isColor": "0", "hasSizeFlexibility": "1", "enumeratedSizes": "[[8, 6], [4, 3]]"},
		{"name": "g", "type": "Dictionary", "keyType": "Int64"},
		{"name": "h", "type": "Sequence", "valueType": "String", "sizeRange": "[1, -1]"},
		{"name": "i", "type": "Double"}
	],
	"outputSchema": [
		{"name": "w", "type": "MultiArray", "dataType": "Float16", "shape": "[]", "hasShapeFlexibility": "0"},
		{"name": "label", "type": "String"}, {"name": "number", "type": "Int64"}
	],
	"stateSchema": [{"name": "s", "type": "State", "dataType": "Float16", "shape": "[1, 8]"}]
}]`

func TestCompiled(t *testing.T) {
	weights := string(blobFile(1, 0, halves))
	described := compiledBytes(MLProgram, 7, "generic", sub(1, halvesFeature), sub(100, text(3, "An author")))
	m := open(t, writeFiles(t, t.TempDir(), map[string]string{
		compiledData: described, compiledProgram: compiledText, "weights/weight.bin": weights,
		compiledMetadata: "not looked at", "analytics/coremldata.bin": "not looked at",
	}))
	fn := m.Description.Function("")
	if m.Format != Compiled || m.Type != MLProgram || m.SpecificationVersion != 7 || m.Description.Metadata.Author != "An author" ||
		len(fn.Inputs) != 1 || fn.Inputs[0].Type.String() != "fp16 array [4]" {
		t.Errorf("got %v of type %v, version %d: %+v", m.Format, m.Type, m.SpecificationVersion, m.Description)
	}
	wantOneToFour(t, m)

	// Without coremldata.bin, or with one of another layout, metadata.json will do.
	for _, data := range []string{"", "\x08\x04", described[:90]} {
		files := map[string]string{compiledData: data, compiledMetadata: metadataText, compiledProgram: compiledText, "weights/weight.bin": weights}
		if data == "" {
			delete(files, compiledData)
		}
		m := open(t, writeFiles(t, t.TempDir(), files))
		wantOneToFour(t, m)
		fn := m.Description.Function("")
		compare(t, "input", fn.Inputs, []Feature{
			{Name: "a", Type: &ArrayType{DType: tensor.Float16, Shape: []int{1, 10}}, Optional: true, Description: "first"},
			{Name: "b", Type: &ArrayType{DType: tensor.Int32, Shape: []int{1, 4}, Ranges: []Range{{1, 1}, {2, Unbounded}}}},
			{Name: "c", Type: &ArrayType{DType: tensor.Float64, Shape: []int{3}, Shapes: [][]int{{3}, {5, 6}}}},
			{Name: "d", Type: &ImageType{Width: 8, Height: 6, ColorSpace: BGR}},
			{Name: "e", Type: &ImageType{Width: 8, Height: 6, ColorSpace: GrayscaleFloat16, Range: &ImageSizeRange{Range{1, 8}, Range{1, Unbounded}}}},
			{Name: "f", Type: &ImageType{Width: 8, Height: 6, ColorSpace: Grayscale, Sizes: []ImageSize{{8, 6}, {4, 3}}}},
			{Name: "g", Type: &DictType{&Int64Type{}}},
			{Name: "h", Type: &SequenceType{Elem: &StringType{}, Length: Range{1, Unbounded}}},
			{Name: "i", Type: &DoubleType{}},
		})
		compare(t, "output", fn.Outputs, []Feature{
			{Name: "w", Type: &ArrayType{DType: tensor.Float16}}, {Name: "label", Type: &StringType{}}, {Name: "number", Type: &Int64Type{}},
		})
		compare(t, "state", fn.States, []Feature{{Name: "s", Type: &StateType{&ArrayType{DType: tensor.Float16, Shape: []int{1, 8}}}}})
		if md := m.Description.Metadata; md.Author != "An author" || md.License != "A licence" || md.Version != "3" || md.ShortDescription != "A model" || md.UserDefined["key"] != "value" {
			t.Errorf("got metadata %+v", md)
		}
	}

	// Without either, the features follow from the program.
	m = open(t, writeFiles(t, t.TempDir(), map[string]string{compiledProgram: compiledText, "weights/weight.bin": weights}))
	if fn := m.Description.Function(""); m.Format != Compiled || len(fn.Inputs) != 1 || fn.Inputs[0].Type.String() != "fp16 array [4]" {
		t.Errorf("got %+v", m.Description)
	}
	wantOneToFour(t, m)

	// In an archive.
	m = open(t, zipFile(t, zipOf(t, "m.mlmodelc/", zip.Deflate, map[string]string{
		compiledData: described, compiledProgram: compiledText, "weights/weight.bin": weights,
	})))
	wantOneToFour(t, m)
}

func TestCompiledPipeline(t *testing.T) {
	names := binary.LittleEndian.AppendUint64(nil, 2)
	for _, name := range []string{"first", "second"} {
		names = append(binary.LittleEndian.AppendUint64(names, uint64(len(name))), name...)
	}
	files := map[string]string{
		compiledData:  compiledBytes(Pipeline, 6, "generic.model0v6.0.0generic.model1v6.0.0generic", sub(1, halvesFeature)),
		compiledNames: string(names),
	}
	for i := range 2 {
		dir := fmt.Sprintf("model%d/", i)
		files[dir+compiledData] = compiledBytes(MLProgram, 6, "generic", sub(1, halvesFeature))
		files[dir+compiledProgram] = strings.Replace(compiledText, "weight.bin", fmt.Sprintf("%d-weight.bin", i), 1)
		files[dir+fmt.Sprintf("weights/%d-weight.bin", i)] = string(blobFile(1, 0, halves))
	}
	m := open(t, writeFiles(t, t.TempDir(), files))
	if m.Type != Pipeline || len(m.Stages) != 2 || m.Stages[0].Name != "first" || m.Stages[1].Name != "second" {
		t.Fatalf("got %v with stages %+v", m.Type, m.Stages)
	}
	for _, s := range m.Stages {
		wantOneToFour(t, s.Model)
	}
	if reports, err := m.CheckWeights(); err != nil || len(reports) != 2 {
		t.Errorf("got weights %+v, %v", reports, err)
	}

	files[compiledNames] = string(names[:20])
	_, err := Open(writeFiles(t, t.TempDir(), files))
	wantFormatError(t, err, "modelNames", "byte 0x")
	_, err = Open(writeFiles(t, t.TempDir(), map[string]string{compiledData: files[compiledData]}))
	wantFormatError(t, err, "no stages")
}

func TestCompiledErrors(t *testing.T) {
	schema := func(feature string) map[string]string {
		return map[string]string{compiledProgram: compiledText, compiledMetadata: `[{"modelType": {"name": "MLModelType_mlProgram"}, "inputSchema": [` + feature + `]}]`}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		is    error
		want  []string
	}{
		{"no program", map[string]string{compiledData: compiledBytes(MLProgram, 7, "", nil)}, fs.ErrNotExist, []string{"model.mil"}},
		{"data not downloaded", map[string]string{compiledData: lfsHeader, compiledMetadata: metadataText}, ErrLFSPointer, []string{"coremldata.bin"}},
		{"program not downloaded", map[string]string{compiledProgram: lfsHeader, compiledMetadata: metadataText}, ErrLFSPointer, []string{"model.mil"}},
		{"data too short", map[string]string{compiledData: "\x08\x04", compiledProgram: compiledText}, nil, []string{"coremldata.bin", "too few"}},
		{"unknown type", map[string]string{compiledData: compiledBytes(77, 7, ""), compiledProgram: compiledText}, nil, []string{"coremldata.bin", "model type 77"}},
		{"description damaged", map[string]string{compiledData: compiledBytes(MLProgram, 7, "", []byte{0x0a}), compiledProgram: compiledText}, nil, []string{"coremldata.bin: byte 0x4c: description"}},
		{"metadata damaged", map[string]string{compiledProgram: compiledText, compiledMetadata: metadataText[:100]}, nil, []string{"metadata.json: byte 0x", "not valid"}},
		{"no metadata", map[string]string{compiledProgram: compiledText, compiledMetadata: "[]"}, nil, []string{"metadata.json", "describes 0 models"}},
		{"unknown model", map[string]string{compiledProgram: compiledText, compiledMetadata: `[{"modelType": {"name": "MLModelType_x"}}]`}, nil, []string{"modelType", "MLModelType_x"}},
		{"feature without a name", schema(`{"type": "Double"}`), nil, []string{"inputSchema[0].name"}},
		{"unknown feature", schema(`{"name": "x", "type": "Sound"}`), nil, []string{"inputSchema[0].type", "Sound"}},
		{"unknown element type", schema(`{"name": "x", "type": "MultiArray", "dataType": "Int4", "shape": "[]"}`), nil, []string{"inputSchema[0].dataType", "Int4"}},
		{"shape is text", schema(`{"name": "x", "type": "MultiArray", "dataType": "Int8", "shape": "wide"}`), nil, []string{"inputSchema[0].shape", "wide"}},
		{"shape overflows", schema(`{"name": "x", "type": "MultiArray", "dataType": "Int8", "shape": "[1000000000000, 1000000000000]"}`), nil, []string{"inputSchema[0].shape"}},
		{"negative shape", schema(`{"name": "x", "type": "MultiArray", "dataType": "Int8", "shape": "[-1]"}`), nil, []string{"inputSchema[0].shape"}},
		{"range of three", schema(`{"name": "x", "type": "MultiArray", "dataType": "Int8", "shape": "[1]", "shapeRange": "[[1, 2, 3]]"}`), nil, []string{"inputSchema[0].shapeRange"}},
		{"unknown keys", schema(`{"name": "x", "type": "Dictionary", "keyType": "Double"}`), nil, []string{"inputSchema[0].keyType"}},
		{"width", schema(`{"name": "x", "type": "Image", "colorspace": "RGB", "width": "wide", "height": "1"}`), nil, []string{"inputSchema[0].width"}},
		{"color space", schema(`{"name": "x", "type": "Image", "colorspace": "CMYK", "width": "1", "height": "1"}`), nil, []string{"inputSchema[0].colorspace", "CMYK"}},
		{"two features", schema(`{"name": "x", "type": "Double"}, {"name": "x", "type": "Double"}`), nil, []string{"input[x]", "two features"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Open(writeFiles(t, t.TempDir(), c.files))
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if c.is == nil {
				wantFormatError(t, err, c.want...)
			} else if !errors.Is(err, c.is) {
				t.Errorf("got error %v of type %T, want %v", err, err, c.is)
			}
		})
	}
}
