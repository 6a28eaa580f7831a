package netplist

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// realLists returns the property lists of the shared data.
func realLists(t testing.TB) (files []string) {
	root := testkit.Shared(t, "netplists")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".plist" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) != 23 {
		t.Fatalf("%d lists, want 23: %v", len(files), err)
	}
	return files
}

// beside opens a weights file as the root package does: beside the list or beside its folder. gemm's is 16 MiB of zeros, which
// nobody keeps.
func beside(list string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if name == "../zero" {
			return make([]byte, 16<<20), nil
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(list), filepath.Base(name)))
		if err != nil {
			data, err = os.ReadFile(filepath.Join(filepath.Dir(list), "..", filepath.Base(name)))
		}
		return data, err
	}
}

func readReal(t testing.TB, path string) *File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !Is(data) {
		t.Errorf("%s is no network description", path)
	}
	f, err := Read(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

func again(t testing.TB, f *File, form Form) *File {
	t.Helper()
	var buf bytes.Buffer
	if err := f.Write(&buf, form); err != nil {
		t.Fatal(err)
	}
	g, err := Read(buf.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, buf.Bytes())
	}
	return g
}

// The 23 lists read, print and read back equal, as values and as dictionaries, in both forms.
func TestRealListsReadBack(t *testing.T) {
	for _, path := range realLists(t) {
		f := readReal(t, path)
		data, _ := os.ReadFile(path)
		want, _ := decode(data)
		got, err := f.dict()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n got %v\nwant %v", path, err, got, want)
		}
		for _, form := range []Form{XML, Binary} {
			if g := again(t, f, form); !reflect.DeepEqual(f, g) {
				t.Errorf("%s, form %d: not equal", path, form)
			}
		}
	}
}

// What the real lists are as graphs.
func TestRealListsAsGraphs(t *testing.T) {
	for path, want := range map[string]string{
		"simple/conv.plist": `graph net
form 2020
input %image : fp16[1,1,3,1,1]
const %my_layer.w : fp16[3,1,3,1,1] {data = splat(2)SUM
%"probs@output" = anec.convolution(%image, %my_layer.w) : fp16[1,1,3,1,1] @my_layer
output %"probs@output"
`,
		"simple/goc.plist": `graph net
form 2020
input %image : fp16[1,1,3,1,1]
%"probs@output" = anec.gain_offset_control(%image) {scale = 34, bias = 67.00391} : fp16[1,1,3,1,1] @my_layer
output %"probs@output"
`,
		"plists/reshape.plist": `graph net
form 2020
input %data : fp16[1,1,1,2,5]
%"output@output" = anec.reshape(%data) {dims = [1, 1, 10, 1, 1]} : fp16[1,1,10,1,1] @output
output %"output@output"
`,
		"plists/broadcast.plist": `graph net
form 2020
input %B : fp16[1,1,1,1,2]
input %A : fp16[7,1,1,1,1]
%A_broadcasted_output = anec.broadcast(%A) {dims = [7, 1, 1, 1, 2]} : fp16[7,1,1,1,2]
%B_broadcasted_output = anec.broadcast(%B) {dims = [7, 1, 1, 1, 2]} : fp16[7,1,1,1,2]
%"output@output" = anec.scaled_elementwise(%A_broadcasted_output, %B_broadcasted_output) {type = Min} : fp16[7,1,1,1,2] @output
output %"output@output"
`,
		"simple/doubleconvrev.plist": `graph net
form 2020
input %image : fp16[1,1,3,1,1]
const %my_layer.w : fp32[3,1,3,1,1] {data = [9.1835e-41, SUM
%"probs@output" = anec.convolution(%image, %my_layer.w) : fp16[1,1,3,1,1] @my_layer
%"aalt@output" = anec.convolution(%"probs@output", %my_layer.w) : fp16[1,1,3,1,1] @my_layer_2
output %"probs@output"
output %"aalt@output"
`,
		"plists/concat.plist": `graph net
form 2020
input %input_1 : fp16[2,4,2,2,3]
input %input_0 : fp16[2,4,4,2,3]
%"output@output" = anec.concat(%input_0, %input_1) {axis = C} : fp16[2,4,6,2,3] @output
output %"output@output"
`,
		"simple/concat.plist": `graph net
form 2020
input %input_1 : fp16[1,1,16,1,1]
input %input_0 : fp16[1,1,16384,1,1]
%"output@output" = anec.concat(%input_0, %input_1) {axis = C} : fp16[1,1,16400,1,1] @output
output %"output@output"
`,
		"net.plist": `graph net
form 2020
input %image : fp16[1,1,3,1,1]
const %probs_tmp_0.w : fp32[2,1,3,1,1] {data = splat(3)SUM
const %probs.bias : fp16[1,1,2,1,1] {data = splat(1)SUM
%probs_tmp_0 = anec.convolution(%image, %probs_tmp_0.w) : fp16[1,1,2,1,1]
%"probs@output" = anec.gain_offset_control(%probs_tmp_0, _, %probs.bias) : fp16[1,1,2,1,1] @probs
output %"probs@output"
`,
		"simple/convuint8.plist": `graph net
form 2020
input %image : uint8[1,1,1,1,3]
const %my_layer.w : uint8[3,1,1,1,1] {data = [1, 2, 3]SUM
%"probs@output" = anec.convolution(%image, %my_layer.w) : uint8[1,1,3,1,3] @my_layer
output %"probs@output"
`,
	} {
		list := testkit.Shared(t, "netplists", filepath.FromSlash(path))
		procs, findings, err := readReal(t, list).Procedures(beside(list))
		if err != nil || len(procs) != 1 || len(findings) > 0 {
			t.Errorf("%s: %d procedures, %v, %v", path, len(procs), findings, err)
			continue
		}
		if got := anec.Print(procs[0].Graph); !matches(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
		}
	}
}

// matches compares texts in which SUM stands for the rest of a line.
func matches(got, want string) bool {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		head, _, cut := strings.Cut(w[i], "SUM")
		if g[i] != w[i] && !(cut && strings.HasPrefix(g[i], head)) {
			return false
		}
	}
	return true
}

// All 23 become graphs, but for one whose weights nobody has.
func TestRealListsBecomeGraphs(t *testing.T) {
	for _, list := range realLists(t) {
		procs, findings, err := readReal(t, list).Procedures(beside(list))
		if strings.HasSuffix(filepath.ToSlash(list), "plists/gemm.plist") {
			if err == nil {
				t.Errorf("%s: weights of 64 by 64 from a file of 216 bytes", list)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		if len(procs) != 1 || procs[0].Name != "net" || len(findings) > 0 {
			t.Errorf("%s: %d procedures, %v", list, len(procs), findings)
		}
	}
}
