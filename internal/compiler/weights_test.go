package compiler

import (
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/mil"
)

// programIn is a program with a constant in a weight file.
func programIn(t *testing.T, data []byte) *mil.Program {
	t.Helper()
	p, err := mil.ParseText("model.mil", []byte(`program(1.0)
{
    func main<ios16>(tensor<fp16, [4]> x) {
            tensor<fp16, [4]> w = const()[name = string("w"), val = tensor<fp16, [4]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(64)))];
            tensor<fp16, [4]> y = add(x = x, y = w)[name = string("y")];
        } -> (y);
}
`), coreml.WeightsOf(func(string) []byte { return data }))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Programs of a pipeline may have different weight files of one name: a bundle has both.
func TestWeightFilesOfOneName(t *testing.T) {
	data := [][]byte{{1, 2, 3}, {4, 5, 6}}
	one, other := programIn(t, data[0]), programIn(t, data[1])
	job := &Job{Program: one, Functions: []Entry{{}, {Program: other}, {}}}
	list, err := job.weightFiles()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	var paths []string
	for _, w := range list {
		paths = append(paths, w.add(files))
	}
	if want := []string{"weights/w.bin", "weights/1/w.bin", "weights/w.bin"}; !slices.Equal(paths, want) {
		t.Errorf("the files are at %q, want %q", paths, want)
	}
	if len(files) != 2 || !sameMemory(files["weights/1/w.bin"], data[1]) {
		t.Errorf("the bundle has %v", files)
	}

	// The host knows a file by its name alone.
	host := &mil.Program{Functions: slices.Concat(one.Functions, other.Functions)}
	err = addHostWeights(host, &bundle.Manifest{}, map[string][]byte{})
	if err == nil || !strings.Contains(err.Error(), "the host reads two files that go by this name") {
		t.Errorf("got %v", err)
	}
}
