package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5"
)

// whole is a manifest as Write makes it, without a disk.
func whole(t testing.TB) *Manifest {
	t.Helper()
	m := sample(t).Manifest
	m.Format, m.Version = formatName, formatVersion
	for _, path := range []string{HostPath, ProgramPath, ContainerPath(0), ContainerPath(1), "weights/a.bin"} {
		m.Files = append(m.Files, File{path, roleOf(path), 8, strings.Repeat("0a", 32)})
	}
	return &m
}

// as makes a feature the one input of the second function.
func as(f Feature) func(*Manifest) {
	f.Name = "x"
	return func(m *Manifest) { m.Functions[1].Inputs = []Feature{f} }
}

// stages makes a bundle a pipeline of its functions.
func stages(names ...string) func(*Manifest) {
	return func(m *Manifest) { m.Pipeline = &Pipeline{Name: "main", Stages: names} }
}

func TestManifestRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*Manifest)
		want   string
	}{
		{func(m *Manifest) { m.Format = "x" }, `format: "x"`},
		{func(m *Manifest) { m.Version = 2 }, "version: 2 instead of 1"},
		{func(m *Manifest) { m.Files[0].Path = "/host.mil" }, "files[0].path: \"/host.mil\": the path leaves the bundle"},
		{func(m *Manifest) { m.Files[0].Path = "" }, "the path leaves the bundle"},
		{func(m *Manifest) { m.Files[0].Path = "." }, "the path leaves the bundle"},
		{func(m *Manifest) { m.Files[4].Path = "weights/../../x" }, "the path leaves the bundle"},
		{func(m *Manifest) { m.Files[4].Path = `weights/..\x` }, "the path leaves the bundle"},
		{func(m *Manifest) { m.Files[4].Path = "weights/c:x" }, "the path leaves the bundle"},
		{func(m *Manifest) { m.Files[4].Path = "weights/\x01" }, "the path leaves the bundle"},
		{func(m *Manifest) { m.Files[4].Path = "other/x" }, "and files in segments/ and weights/ only"},
		{func(m *Manifest) { m.Files[0].Path = manifestName }, "and files in segments/ and weights/ only"},
		{func(m *Manifest) { m.Files = append(m.Files, m.Files[4]) }, `files[5].path: "weights/a.bin" stands twice`},
		{func(m *Manifest) {
			m.Files = append(m.Files, m.Files[4])
			m.Files[5].Path = "weights/A.bin"
		}, "stands twice"},
		{func(m *Manifest) { m.Files[4].Role = RoleHost }, `weights/a.bin has the role "host" instead of "weights"`},
		{func(m *Manifest) { m.Files[4].Size = -1 }, "files[4].size: -1"},
		{func(m *Manifest) { m.Files[4].SHA256 = "0A" }, "files[4].sha256"},
		{func(m *Manifest) { m.Files[4].SHA256 = strings.Repeat("0A", 32) }, "files[4].sha256"},
		{func(m *Manifest) { m.Files[1] = m.Files[2]; m.Files[1].Path = "segments/x" }, "there is no program.e5"},
		{func(m *Manifest) { m.Functions[1].Name = "main" }, `functions[1].name: "main" stands twice`},
		{func(m *Manifest) { m.Functions[1].Name = "" }, "functions[1].name: there is no name"},
		{func(m *Manifest) { m.Functions[0].Inputs[1].Name = "x" }, `functions[0].inputs[1].name: "x" stands twice`},
		{func(m *Manifest) { m.Functions[0].Outputs[0].Kind = "video" }, `functions[0].outputs[0].kind: "video" is not known`},
		{func(m *Manifest) { m.Functions[0].Inputs[0].Array = nil }, `functions[0].inputs[0]: a feature of kind "array" is described as another`},
		{func(m *Manifest) { m.Functions[0].States[0].Array.Type = "fp12" }, "functions[0].states[0].array.type"},
		{func(m *Manifest) { m.Functions[0].States[0].Array.Shape = []int{-1} }, "functions[0].states[0].array.shape: [-1] is not a possible shape"},
		{func(m *Manifest) { m.Functions[0].States[0].Array.Shape = []int{1 << 40, 1 << 40} }, "is not a possible shape"},
		{func(m *Manifest) { m.Functions[0].Inputs[0].Array.Shapes = [][]int{{1}, {-2}} }, "functions[0].inputs[0].array.shapes[1]"},
		{func(m *Manifest) { m.Functions[0].Inputs[0].Array.Ranges = []Range{{1, -1}, {3, 2}} }, "functions[0].inputs[0].array.ranges[1]: from 3 to 2 is not a possible range"},
		{as(Feature{Kind: "dictionary", Elem: "double"}), `functions[1].inputs[0].elem: "double" is neither "int64" nor "string"`},
		{as(Feature{Kind: "sequence", Elem: "fp12"}), `functions[1].inputs[0].elem: "fp12" is neither "int64" nor "string"`},
		{as(Feature{Kind: "sequence", Elem: "int64", Length: &Range{-1, 2}}), "functions[1].inputs[0].length: from -1 to 2 is not a possible range"},
		{as(Feature{Kind: "image", Image: &Image{Width: -1, ColorSpace: "RGB"}}), "functions[1].inputs[0].image: -1 × 0 is not a possible size"},
		{as(Feature{Kind: "image", Image: &Image{Sizes: [][2]int{{1, 1}, {1 << 40, 1 << 40}}}}), "functions[1].inputs[0].image.sizes[1]"},
		{as(Feature{Kind: "image", Image: &Image{WidthRange: &Range{1, 2}}}), "a range of widths or of heights, and not of both"},
		{as(Feature{Kind: "image", Image: &Image{WidthRange: &Range{1, 2}, HeightRange: &Range{1, -2}}}), "functions[1].inputs[0].image.heightRange: from 1 to -2"},
		{func(m *Manifest) { m.Functions[0].Segments[0].Operation = "" }, "functions[0].segments[0].operation: it has no name"},
		{func(m *Manifest) { m.Functions[0].Segments[0].Backend = "gpu" }, `"gpu" is neither "engine" nor "host"`},
		{func(m *Manifest) { m.Functions[0].Segments[0].Container = HostPath }, `there is no container "host.mil"`},
		{func(m *Manifest) { m.Functions[0].Segments[0].Function = "f" }, "an engine segment has none"},
		{func(m *Manifest) { m.Functions[0].Segments[1].Function = "" }, "segments[1].function: it has no name"},
		{func(m *Manifest) { m.Functions[0].Segments[1].Procedure = "p" }, "a host segment has no container"},
		{func(m *Manifest) { m.Files = m.Files[1:] }, "there is no host.mil for it"},
		{func(m *Manifest) { m.Functions[0].Segments = m.Functions[0].Segments[:2] }, "files[3]: nothing uses segments/1.hwx"},
		{func(m *Manifest) { m.Weights = nil; m.Functions[0].Segments[2].Weights = "" }, "files[4]: nothing uses weights/a.bin"},
		{func(m *Manifest) { m.Functions[0].Segments[2].Weights = HostPath }, `segments[2].weights: there is no file of weights "host.mil"`},
		{func(m *Manifest) { m.Functions[0].Segments[1].Weights = "weights/a.bin" }, "a host segment has no container"},
		{func(m *Manifest) { m.Functions[0].Classifier.Label = "x" }, `functions[0].classifier.label: there is no output "x"`},
		{func(m *Manifest) { m.Functions[0].Classifier.Probabilities = "x" }, `functions[0].classifier.probabilities: there is no output "x"`},
		{func(m *Manifest) { m.Functions[0].Classifier.Numbers = []int64{1} }, "functions[0].classifier: the classes have both texts and numbers"},
		{stages("other"), "pipeline.stages: 1 stages, and the bundle has 2 functions"},
		{stages("other", "other"), `pipeline.stages[1]: "other" stands twice`},
		{stages("other", "none"), `pipeline.stages[1]: there is no function "none"`},
		{stages("other", "main"), `pipeline.stages[1]: function "main" has states`},
		{func(m *Manifest) { m.Pipeline = &Pipeline{} }, "pipeline.name: there is no name"},
		{func(m *Manifest) {
			stages("other", "main")(m)
			m.Functions[0].States = nil
		}, `pipeline.stages[1]: function "main" takes "picture", which neither the pipeline takes nor a stage before gives`},
		{func(m *Manifest) {
			stages("main", "other")(m)
			m.Functions[0].States = nil
			m.Pipeline.Inputs = m.Functions[0].Inputs
			m.Pipeline.Outputs = []Feature{{Name: "none", Kind: "double"}}
		}, `pipeline.outputs: no stage gives "none"`},
		{func(m *Manifest) { m.Weights[1].Name = "w" }, `weights[1].name: "w" stands twice`},
		{func(m *Manifest) { m.Weights[0].File = HostPath }, `there is no file of weights "host.mil"`},
		{func(m *Manifest) { m.Weights[0].Offset = 3 }, "weights[0]: 6 bytes at 3 are not in weights/a.bin, which has 8"},
		{func(m *Manifest) { m.Weights[0].Offset = -1 }, "weights[0]: 6 bytes at -1"},
		{func(m *Manifest) { m.Weights[1].Size = 1 << 62; m.Weights[1].Offset = 1 << 62 }, "are not in weights/a.bin"},
		{func(m *Manifest) { m.Weights[0].Type = "fp12" }, "weights[0].type"},
		{func(m *Manifest) { m.Weights[0].Type = "" }, "weights[0].shape: there is a shape without a type"},
		{func(m *Manifest) { m.Weights[0].Shape[0] = -1 }, "weights[0].shape"},
		{func(m *Manifest) { m.Weights[0].Shape[0] = 4 }, "weights[0].size: 6 bytes for fp16 [4]"},
		{func(m *Manifest) { m.Generator = strings.Repeat("x", maxManifest) }, "and at most 8388608 are read"},
	} {
		m := whole(t)
		c.change(m)
		_, err := m.Encode()
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("written: got %v, want %s", err, c.want)
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(data); !errors.As(err, &format) {
			t.Errorf("read: got %v, want %s", err, c.want)
		}
	}
	for text, want := range map[string]string{
		``:   "not a bundle",
		`{}`: `format: "": not a bundle`,
		`{"format": "espalier bundle", "version": 1, "colour": 1}`:         `unknown field "colour"`,
		`{"format": "espalier bundle", "version": 1, "target": 1}`:         "byte 0x37: json: cannot unmarshal number",
		`{"format": "espalier bundle", "version": 1, "functions": [[]]}`:   "cannot unmarshal array",
		`{"format": "espalier bundle", "version": 1, "files": []} {"a":1}`: "not a bundle",
		`{"format": "espalier bundle", "version": 1, "files": []}`:         "there is no program.e5",
		strings.Repeat("[", 20000):                                         "not a bundle",
	} {
		if _, err := ParseManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", text, err, want)
		}
	}
}

func TestAgree(t *testing.T) {
	program := func() *e5.Program {
		p, err := e5.Decode(sample(t).Program)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := whole(t).agree(program()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*Manifest, *e5.Program)
		want   string
	}{
		{func(m *Manifest, p *e5.Program) { p.Functions = p.Functions[:1] }, "functions: 2 functions, and 1 in program.e5"},
		{func(m *Manifest, p *e5.Program) { p.Functions[1].Name = "x" }, `functions[1].name: "other", and "x" in program.e5`},
		{func(m *Manifest, p *e5.Program) {
			p.Functions[1].Add(nil, nil, e5.RawAttrs{Op: e5.MpsGraphInference})
		}, "program.e5: other.Op0_MpsGraphInference: no backend runs an operation of kind MpsGraphInference"},
		{func(m *Manifest, p *e5.Program) { p.Functions[1].Add(nil, nil, e5.CpuInferenceAttrs{Function: "f"}) }, "functions[1].segments[0]: Op0_CpuInference of program.e5 is missing"},
		{func(m *Manifest, p *e5.Program) { p.Functions[0].Blocks = nil }, "functions[0].segments[0]: Op1_AneInference is not in program.e5"},
		{func(m *Manifest, p *e5.Program) {
			p.Functions[0].Operations()[1].Attrs = e5.AneInferenceAttrs{ProcedureName: "net", ProgramSymbol: "segments/1.hwx"}
		}, "functions[0].segments[0]: "},
	} {
		m, p := whole(t), program()
		c.change(m, p)
		if err := m.agree(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Whatever is read is written in a form that is read as the same; everything
// else is a FormatError.
func FuzzManifest(f *testing.F) {
	data, err := whole(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	small := &Manifest{Format: formatName, Version: formatVersion, Files: []File{{ProgramPath, RoleProgram, 0, strings.Repeat("0", 64)}}}
	if data, err = small.Encode(); err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) {
				t.Errorf("error %v is of type %T", err, err)
			}
			return
		}
		written, err := m.Encode()
		if err != nil {
			t.Fatalf("what was read is not written: %v", err)
		}
		again, err := ParseManifest(written)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(twice, written) {
			t.Errorf("written twice, it differs: %v", err)
		}
	})
}
