package dump

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// A format is one that single files have.
type format struct {
	name string
	is   func(data []byte) bool
	// explain takes a file apart. Beside an error it may return what comes before the damage.
	explain func(f *file) (Content, error)
}

// formats are those of single files, those with a sure sign first.
var formats = []format{
	{"hardware container", hwx.IsContainer, explainContainer},
	{"firmware container", firmware.IsPackage, explainFirmware},
	{"dispatch descriptor", e5.IsDescriptor, explainDescriptor},
	{"npy array", tensor.IsNPY, explainArrays},
	{"npz archive", isArrayArchive, explainArrays},
	{"model archive", tensor.IsNPZ, explainModel},
	{"Git LFS pointer", coreml.IsLFSPointer, func(f *file) (Content, error) { return nil, f.named(coreml.ErrLFSPointer) }},
	{"weight file", coreml.IsBlob, explainBlob},
	{"MIL text", isProgramText, explainModel},
	{"graph of native layers", graphfile.Is, explainGraphs},
	{"specification", isSpecification, explainModel},
}

// isArrayArchive tells arrays from a model in a zip archive: by the names of the entries.
func isArrayArchive(data []byte) bool {
	if !tensor.IsNPZ(data) {
		return false
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return false
	}
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".npy") {
			return false
		}
	}
	return true
}

func isProgramText(data []byte) bool {
	head := bytes.TrimPrefix(data[:min(len(data), 4096)], []byte("\ufeff"))
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("program"))
}

// isSpecification: the first field of a model is its version, a number.
func isSpecification(data []byte) bool { return len(data) > 0 && data[0] == 0x08 }

// A file is one that is being explained.
type file struct {
	Head
	data   []byte      // nil for a folder
	opened []io.Closer // what is closed in the end, in order
}

// named puts the file before an error that does not name it.
func (f *file) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.File, err)
}

func (f *file) close() (err error) {
	for _, o := range f.opened {
		err = errors.Join(err, o.Close())
	}
	return err
}

// open maps a file and finds out what it is.
func open(path string) (*file, func(*file) (Content, error), error) {
	f := &file{Head: Head{File: path}}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		if bundle.IsBundle(path) {
			f.Format = "bundle"
			return f, explainBundle, nil
		}
		if graphfile.IsFile(path) {
			return f, explainGraphs, nil
		}
		return f, explainModel, nil
	}
	mapping, err := osfile.Map(path)
	if err != nil {
		return nil, nil, err
	}
	f.opened = append(f.opened, mapping)
	f.data, f.Size = mapping.Bytes(), int64(len(mapping.Bytes()))
	explain, err := f.recognize()
	if err != nil {
		return nil, nil, errors.Join(err, f.close())
	}
	return f, explain, nil
}

// recognize finds the format of a file.
func (f *file) recognize() (func(*file) (Content, error), error) {
	if len(f.data) == 0 {
		return nil, f.named(errors.New("the file is empty"))
	}
	for _, known := range formats {
		if known.is(f.data) {
			f.Format = known.name
			return known.explain, nil
		}
	}
	if what := coreml.Stranger(f.data); what != "" {
		return nil, fmt.Errorf("%s: byte 0x0: this is %s, which dump does not read", f.File, what)
	}
	return nil, fmt.Errorf("%s: byte 0x0: it begins with % x, as no format does that dump knows: expected %s",
		f.File, f.data[:min(len(f.data), 8)], formatNames())
}

func formatNames() string {
	names := []string{"bundle", "package"}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
