package bundle

import (
	"bytes"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/hwx"
)

// A Form is one of the forms that a model passes through on its way to the
// engine: seed 23.1.
type Form struct {
	Stage  string
	Format string
	Tag    string // what it is known by, in the seed's words
	Role   string

	// Is reports whether data begins as the form does. It looks for the tag alone;
	// whether the rest can be read, the form's own package says.
	Is func(data []byte) bool
}

// Forms returns the six forms. A loaded image has the bytes of a container, with
// the addresses filled in: nothing at its beginning tells it from one.
func Forms() []Form { return forms[:] }

// FormOf returns the first form that the data is, false if it is none.
func FormOf(data []byte) (Form, bool) {
	for _, f := range forms {
		if f.Is(data) {
			return f, true
		}
	}
	return Form{}, false
}

var forms = [...]Form{
	{"intermediate-language text", "text", "version 3520.4.1", "what the compiler reads", isMIL},
	{"network description", "property list", "version 1.0.10", "layers and how they are wired", isPropertyList},
	{"hardware container", "Mach-O shape", "0xbeefface", "register writes and weights", hwx.IsContainer},
	{"dispatch descriptor", "FlatBuffer", "vtable 0c00 1400 0400 0800", "the operations that the runtime submits", e5.IsDescriptor},
	{"loaded program image", "Mach-O shape, signed", "0xbeefface", "a container at its addresses", hwx.IsContainer},
	{"firmware container", "sectioned blob", "ANEH / ANEP / ANES", "what the controller loads", firmware.IsPackage},
}

// isMIL: a program begins with its version. The number in the seed is the
// compiler's, which stands further on, among the build info.
func isMIL(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("program("))
}

// isPropertyList: binary or XML. The version is a value in it.
func isPropertyList(data []byte) bool {
	if bytes.HasPrefix(data, []byte("bplist00")) {
		return true
	}
	head := data[:min(len(data), 1024)]
	return bytes.HasPrefix(bytes.TrimLeft(head, "\ufeff \t\r\n"), []byte("<")) && bytes.Contains(head, []byte("<plist"))
}
