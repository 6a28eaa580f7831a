package coreml

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// strangers are files that people may take for a model, by what they have at a place near their beginning.
var strangers = []struct {
	at         int
	sign, what string
}{
	{0, "bplist00", "a binary property list"},
	{0, "<?xml", "an XML file, perhaps a property list"},
	{0, "\xcf\xfa\xed\xfe", "a Mach-O file; a hardware container has the magic 0xbeefface in its place"},
	{0, "\x93NUMPY", "an npy array"},
	{0, "\x89PNG", "a PNG picture"},
	{0, "\xff\xd8\xff", "a JPEG picture"},
	{0, "GGUF", "a GGUF model: convert the model that it was made of with coremltools"},
	{0, "\x89HDF", "an HDF5 file, perhaps a Keras model, which coremltools converts"},
	{4, "TFL3", "a TensorFlow Lite model: convert the model that it was made of with coremltools"},
	{8, `{"`, "a safetensors file: the model that it has the weights of can be converted with coremltools"},
	{0, "{", "a JSON file"},
	{0, "\x1f\x8b", "a gzip file: unpack it first"},
	{257, "ustar", "a tar archive: unpack it first"},
}

// Stranger says of a file that is no model what it is by its beginning, "" if that does not tell.
func Stranger(data []byte) string {
	if isSpecification(data) {
		if isONNX(data) {
			return "an ONNX model: convert the model that it was made of with coremltools"
		}
		return ""
	}
	for _, s := range strangers {
		if len(data) >= s.at && bytes.HasPrefix(data[s.at:], []byte(s.sign)) {
			return s.what
		}
	}
	return ""
}

// isONNX reports whether a file is a ModelProto of ONNX: like a Core ML model it begins with its version, and then has a graph as
// field 7 and no field from 200 on.
func isONNX(data []byte) bool {
	graph := false
	f := message{data, 0}.fields()
	for f.next() {
		graph = graph || f.num == 7 && f.typ == protowire.BytesType
		if f.num >= 200 {
			return false
		}
	}
	return graph && f.err == nil
}

// isSpecification: the first field of a model is its version, a number.
func isSpecification(data []byte) bool { return len(data) > 0 && data[0] == 1<<3 }

const modelForms = "a package (.mlpackage, a folder or zipped), a specification (.mlmodel), a compiled model (.mlmodelc), MIL text that begins with the word program, a bundle or a hardware container (.hwx)"

// explainStranger says of a file that could not be decoded as a specification what it begins with, if that is not how one does.
func explainStranger(data []byte, err error) error {
	what := Stranger(data)
	switch {
	case len(data) == 0:
		what = "the file is empty"
	case what != "":
		what = "this is " + what
	case isSpecification(data): // a damaged one
		return err
	default:
		what = "it begins with " + beginning(data) + ", as no model does"
	}
	return &FormatError{Offset: -1, Msg: fmt.Sprintf("%s; expected %s", what, modelForms)}
}

// explainStranger says of an archive without a model what it has.
func (a *archive) explainStranger() error {
	names := slices.Sorted(maps.Keys(a.entries))
	what := fmt.Sprintf("the archive is neither a package, which has a %s, nor a compiled model, which has a %s", manifestName, compiledProgram)
	notArray := func(name string) bool { return !strings.HasSuffix(name, ".npy") }
	switch {
	case len(names) == 0:
		what += ": it is empty"
	case !slices.ContainsFunc(names, notArray):
		what = "this is an npz archive of arrays"
	case slices.ContainsFunc(names, func(name string) bool { return path.Base(name) == "data.pkl" }):
		what = "this is a PyTorch file: coremltools converts the model that it has"
	default:
		what += ": it has " + strings.Join(names[:min(len(names), 3)], ", ")
		if len(names) > 3 {
			what += fmt.Sprintf(" and %d more files", len(names)-3)
		}
	}
	return badFile(a.path, "%s; expected %s", what, modelForms)
}

// beginning shows the first bytes of a file: as text if they are.
func beginning(data []byte) string {
	const shown = 16
	head := data[:min(len(data), shown)]
	text := string(head)
	for len(text) > len(head)-utf8.UTFMax && len(text) > 0 && !utf8.ValidString(text) { // it may be cut within a letter
		text = text[:len(text)-1]
	}
	plain := func(r rune) bool { return unicode.IsPrint(r) || unicode.IsSpace(r) }
	if utf8.ValidString(text) && text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("the bytes % x", data[:min(len(data), shown/2)])
}
