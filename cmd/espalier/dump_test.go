package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// scriptContainer copies containers of hwx/testdata: container NAME….
func scriptContainer(ts *testscript.TestScript, root string, args []string) {
	for _, name := range args {
		data, err := os.ReadFile(filepath.Join(root, "hwx", "testdata", name+".hwx"))
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".hwx"), data, 0o666))
	}
}

// scriptHexdump makes a file of a listing in the repository: hexdump FILE e5/testdata/canonical.hex.
func scriptHexdump(ts *testscript.TestScript, root string, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: hexdump FILE LISTING")
	}
	listing, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(args[1])))
	ts.Check(err)
	var data []byte
	for line := range strings.Lines(string(listing)) {
		line, _, _ = strings.Cut(line, "|")
		for _, digits := range strings.Fields(line)[1:] {
			b, err := hex.DecodeString(digits)
			ts.Check(err)
			data = append(data, b...)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o666))
}

// scriptVirtual writes a container for our own target: virtual FILE. It has two tasks: y = relu(x·w), with a
// weight for each of two channels, and m = n.
func scriptVirtual(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: virtual FILE")
	}
	data, err := virtualContainer()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o666))
}

func virtualContainer() ([]byte, error) {
	target, err := hal.Lookup("virtual")
	if err != nil {
		return nil, err
	}
	int32Type, err := hwx.ElementOf(tensor.Int32)
	if err != nil {
		return nil, err
	}
	spec := hwx.Spec{
		Subtype: target.CPUSubtype, Text: make([]byte, 4), Tasks: 1, FirstTaskWords: 1,
		Constants: []byte{0, 0x40, 0, 0xbc}, // 2 and -1
		Ports: []hwx.PortSpec{
			{Name: "x", Direction: hwx.In, Element: hwx.ElementFloat16, Shape: [4]uint32{1, 2, 1, 3}},
			{Name: "n", Direction: hwx.In, Element: int32Type, Shape: [4]uint32{1, 1, 1, 2}},
			{Name: "y", Direction: hwx.Out, Element: hwx.ElementFloat16, Shape: [4]uint32{1, 2, 1, 3}},
			{Name: "m", Direction: hwx.Out, Element: int32Type, Shape: [4]uint32{1, 1, 1, 2}},
		},
	}
	// Which base a port gets is known when the container is laid out.
	file, err := hwx.Build(spec)
	if err != nil {
		return nil, err
	}
	ports, err := file.Ports()
	if err != nil {
		return nil, err
	}
	operand := map[string]td.Operand{}
	for _, p := range ports {
		operand[p.Name] = td.Operand{
			Base: p.Base, Type: p.Element.DType(), Interleave: 1,
			Dims:    [td.NumAxes]int{p.Shape[0], 1, p.Shape[1], p.Shape[2], p.Shape[3]},
			Strides: [td.NumAxes]int64{p.Strides[0], p.Strides[0], p.Strides[1], p.Strides[2], p.Strides[3]},
		}
	}
	var tasks []*td.Task
	for i, op := range []td.Op{
		{
			Operands: []td.Operand{operand["y"], operand["x"], td.Dense(hwx.BaseConst, 0, tensor.Float16, [td.NumAxes]int{1, 1, 2, 1, 1})},
			Params:   &td.ElementWise{Kind: td.EWMult},
			Epilogue: []td.MicroOp{{Code: td.MicroActivation, Function: uint8(td.FuncReLU)}},
		},
		{Operands: []td.Operand{operand["m"], operand["n"]}, Params: &td.Copy{}},
	} {
		op.ID = uint16(i)
		t, err := op.Task(td.V256)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	if spec.Text, err = td.EncodeStream(tasks); err != nil {
		return nil, err
	}
	first, err := tasks[0].Encode()
	if err != nil {
		return nil, err
	}
	spec.Tasks, spec.FirstTaskWords = len(tasks), len(first)
	if file, err = hwx.Build(spec); err != nil {
		return nil, err
	}
	return file.Encode()
}

// scriptBundle writes a bundle with one engine segment, a container of hwx/testdata: bundle DIR NAME.
func scriptBundle(ts *testscript.TestScript, root string, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: bundle DIR NAME")
	}
	container, err := os.ReadFile(filepath.Join(root, "hwx", "testdata", args[1]+".hwx"))
	ts.Check(err)
	f := e5.NewFunction("main")
	x := []e5.Operand{{Symbol: "x", Tensor: e5.NCHW(e5.Float16, [4]uint64{1, 3, 1, 1}, [4]uint64{192, 64, 64, 2})}}
	y := []e5.Operand{{Symbol: "y", Tensor: e5.NCHW(e5.Float16, [4]uint64{1, 2, 1, 1}, [4]uint64{128, 64, 64, 2})}}
	f.Add(x, y, e5.AneInferenceAttrs{ProcedureName: "net", ProgramSymbol: bundle.ContainerPath(0)})
	program, err := (&e5.Program{Functions: []*e5.Function{f}}).Encode()
	ts.Check(err)
	array := func(name string, shape ...int) []bundle.Feature {
		return []bundle.Feature{{Name: name, Kind: "array", Array: &bundle.Array{Type: "fp16", Shape: shape}}}
	}
	_, err = bundle.Write(ts.MkAbs(args[0]), &bundle.Content{
		Manifest: bundle.Manifest{
			Generator: "test", Target: "h13", Numerics: "h13",
			Functions: []bundle.Function{{
				Name: "main", Inputs: array("x", 1, 3, 1, 1), Outputs: array("y", 1, 2, 1, 1),
				Segments: []bundle.Segment{{Operation: "Op0_AneInference", Backend: bundle.Engine, Container: bundle.ContainerPath(0), Procedure: "net"}},
			}},
			Weights: []bundle.Weight{{Name: "w", File: "weights/a.bin", Size: 4, Type: "fp16", Shape: []int{2}}},
		},
		Program:    program,
		Containers: []bundle.Blob{bundle.Data(bundle.ContainerPath(0), container)},
		Weights:    []bundle.Blob{bundle.Data("weights/a.bin", []byte{1, 2, 3, 4})},
	})
	ts.Check(err)
}

// call runs a command line and returns what it prints; it must succeed.
func call(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := command(args, &stdout, &stderr); code != exitDone || stderr.Len() > 0 {
		t.Fatalf("espalier %q exits with %d: %s", args, code, &stderr)
	}
	return stdout.Bytes()
}

// realContainers are Apple's own programs.
func realContainers(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "hwx"), "*.hwx"))
	if err != nil || len(files) != 17 {
		t.Fatalf("found %d real containers, %v; want 17", len(files), err)
	}
	return files
}

// dumpedWords are the parts of a container's JSON that make its text.
type dumpedWords struct {
	Tasks []struct {
		Version     td.Version
		HeaderWords []string `json:"header_words"`
		Records     []struct {
			Address string
			Count   int
		}
		Words map[string]string
	}
}

// encode makes the text of the words.
func (d *dumpedWords) encode(t *testing.T) []byte {
	t.Helper()
	parse := func(text string) uint32 {
		v, err := strconv.ParseUint(text, 0, 32)
		if err != nil || len(text) != len("0x00000000") {
			t.Fatalf("%q is no word", text)
		}
		return uint32(v)
	}
	var tasks []*td.Task
	for _, task := range d.Tasks {
		made := &td.Task{Version: task.Version}
		for _, w := range task.HeaderWords {
			made.Header = append(made.Header, parse(w))
		}
		written := 0
		for _, rec := range task.Records {
			addr, err := strconv.ParseUint(rec.Address, 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			record := td.Record{Addr: uint32(addr)}
			for i := range rec.Count {
				record.Words = append(record.Words, parse(task.Words[report.Register(uint32(addr)+4*uint32(i))]))
			}
			written += rec.Count
			made.Records = append(made.Records, record)
		}
		if written != len(task.Words) {
			t.Errorf("%d words in the records, %d in all", written, len(task.Words))
		}
		tasks = append(tasks, made)
	}
	text, err := td.EncodeStream(tasks)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The words that dump prints are all that there is: they make the text again.
func TestDumpedWordsAreTheText(t *testing.T) {
	check := func(t *testing.T, path string) {
		t.Helper()
		call(t, "dump", path)
		call(t, "dump", path, "--raw")
		var d dumpedWords
		if err := json.Unmarshal(call(t, "dump", path, "--json"), &d); err != nil {
			t.Fatal(err)
		}
		f, err := hwx.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if !bytes.Equal(d.encode(t), f.Text().Data) {
			t.Errorf("%s: the words make another text", path)
		}
	}
	t.Run("ours", func(t *testing.T) {
		files, _ := filepath.Glob(filepath.Join(testkit.Root(t), "hwx", "testdata", "*.hwx"))
		if len(files) == 0 {
			t.Fatal("no containers")
		}
		data, err := virtualContainer()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "virtual.hwx")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, path := range append(files, path) {
			check(t, path)
		}
	})
	t.Run("Apple's", func(t *testing.T) {
		for _, path := range realContainers(t) {
			check(t, path)
		}
	})
}

// A container of Apple's runs as a model does.
func TestRunRealReLU(t *testing.T) {
	path := testkit.Shared(t, "hwx", "relu_dc54cc54.hwx")
	vals := make([]float32, 77)
	for i := range vals {
		vals[i] = tensor.RoundF16(3 * float32(math.Sin(float64(i))))
	}
	var npz bytes.Buffer
	if err := tensor.WriteNPZ(&npz, []tensor.Named{{Name: "image", Tensor: tensor.Of(vals, 1, 1, 1, 77)}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.npz"), filepath.Join(dir, "out.npz")
	if err := os.WriteFile(in, npz.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	call(t, "run", path, "--inputs", in, "--outputs", out)
	arrays, err := tensor.OpenNPZ(out)
	if err != nil || len(arrays) != 1 || arrays[0].Name != "probs@output" || arrays[0].Tensor.String() != "fp16[1, 1, 1, 77]" {
		t.Fatalf("got %v, %v", arrays, err)
	}
	for i, got := range arrays[0].Tensor.Float32s() {
		if want := max(vals[i], 0); got != want {
			t.Errorf("element %d: got %v, want %v", i, got, want)
		}
	}
}

// No change of a byte, and no cut, makes dump panic or run on.
func TestDumpOfDamagedFiles(t *testing.T) {
	root := testkit.Root(t)
	good, err := os.ReadFile(filepath.Join(root, "hwx", "testdata", "conv3x2.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.hwx")
	try := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"dump", path}, {"dump", path, "--json"}, {"dump", path, "--raw"}, {"inspect", path}, {"run", path, "--input", "zeros"}} {
			var stdout, stderr bytes.Buffer
			if code := command(args, &stdout, &stderr); code != exitDone && code != exitFailed || (code == exitDone) != (stderr.Len() == 0) {
				t.Fatalf("espalier %q exits with %d: %s", args, code, &stderr)
			}
		}
	}
	for _, n := range []int{1, 4, 31, 32, 0x100, 0xca8, 0xfa0, 0x4000, 0x4100, 0x4274, 0x42ff} {
		try(good[:n])
	}
	for at := 0; at < 0x4300; at += 97 {
		data := bytes.Clone(good)
		data[at] ^= 0xff
		try(data)
	}
}
