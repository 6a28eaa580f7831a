package coreml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
)

// Format is the kind of file that a model came in.
type Format int

// The formats of model files.
const (
	Package       Format = iota + 1 // .mlpackage, a folder or a zip archive
	Specification                   // .mlmodel
	Compiled                        // .mlmodelc, a folder or a zip archive
	Text                            // .mil
)

func (f Format) String() string {
	switch f {
	case Package:
		return "package"
	case Specification:
		return "specification"
	case Compiled:
		return "compiled model"
	case Text:
		return "MIL text"
	}
	return fmt.Sprintf("format %d", int(f))
}

// modelFile is what the stages of a model share: the file of the specification or program, and where the
// others are.
type modelFile struct {
	format  Format
	name    string // what messages call the file
	src     source
	weights *weightStore
	closed  atomic.Bool
}

// Open opens a model file. What it is, is decided by its content, not by its name.
func Open(name string) (*Model, error) { return openWith(name, osfile.MapFile) }

// OpenCopy is Open into memory: what happens to a file after it was read does not matter. Weight files are read when they are
// first asked for; see LoadWeights.
func OpenCopy(name string) (*Model, error) { return openWith(name, osfile.CopyFile) }

// A loader makes the content of a file available.
type loader func(*os.File) (*osfile.Mapping, error)

func openWith(name string, load loader) (*Model, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openSource(newFolder(name, load))
	}
	// A file by itself. Its weights, if it has any, are in the folder that it is in.
	src := newFolder(filepath.Dir(name), load)
	mapping, err := src.openAlone(name)
	if err != nil {
		return nil, err
	}
	src.mappings[""] = mapping // closed with the others
	return openData(name, mapping, src)
}

// openData opens a file by its content. Files that it refers to are in the source beside it, which it closes, and the
// mapping with it, if that fails.
func openData(name string, mapping *osfile.Mapping, beside source) (m *Model, err error) {
	defer func() {
		if err != nil {
			m = nil
			mapping.Close()
			beside.close()
		}
	}()
	defer osfile.Protect().Catch(&err)
	data := mapping.Bytes()
	if err := checkPointer(name, data); err != nil {
		return nil, err
	}
	if isZip(data) {
		archive, err := newArchive(name, mapping)
		if err != nil {
			return nil, err
		}
		return openSource(archive)
	}
	file := &modelFile{format: Specification, name: name, src: beside, weights: newWeightStore(beside, "")}
	if isText(name, data) {
		file.format = Text
		m, err = openText(file, data)
	} else {
		m, err = decodeModel(file, message{data, 0}, 0)
		if err != nil {
			err = explainStranger(data, err)
		}
	}
	return m, inFile(name, err)
}

// isText reports whether a file is a MIL text, which begins with the word program.
func isText(name string, data []byte) bool {
	return strings.EqualFold(filepath.Ext(name), ".mil") ||
		bytes.HasPrefix(bytes.TrimLeft(data[:min(len(data), 4096)], " \t\r\n"), []byte("program"))
}

// openSource opens the model of a folder or archive, which it closes if that fails.
func openSource(src source) (m *Model, err error) {
	defer func() {
		if err != nil {
			src.close()
		}
	}()
	defer osfile.Protect().Catch(&err)
	for _, kind := range []struct {
		sign string // a file that only this kind has
		open func(source) (*Model, error)
	}{
		{manifestName, openPackage},
		{compiledProgram, openCompiled},
		{compiledData, openCompiled},
	} {
		_, err := src.stat(kind.sign)
		switch {
		case err == nil:
			return kind.open(src)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if a, ok := src.(*archive); ok {
		return nil, a.explainStranger()
	}
	return nil, badFile(src.display("."), "this is neither a package, which has a %s, nor a compiled model, which has a %s", manifestName, compiledProgram)
}

const (
	manifestName = "Manifest.json"
	// maxManifest bounds the size of a manifest; real ones have less than 1 kB.
	maxManifest = 1 << 20
)

// manifest is the table of contents of a package.
type manifest struct {
	FileFormatVersion   string `json:"fileFormatVersion"`
	RootModelIdentifier string `json:"rootModelIdentifier"`
	ItemInfoEntries     map[string]struct {
		Path string `json:"path"` // below Data/
	} `json:"itemInfoEntries"`
}

// rootModel returns the path of the specification in the package.
func (m *manifest) rootModel() (string, error) {
	if major, _, _ := strings.Cut(m.FileFormatVersion, "."); major != "1" {
		return "", &FormatError{Offset: -1, Field: "fileFormatVersion", Msg: fmt.Sprintf("version %q is not known, expected 1.0.0", m.FileFormatVersion)}
	}
	item, ok := m.ItemInfoEntries[m.RootModelIdentifier]
	if !ok {
		return "", &FormatError{Offset: -1, Field: "rootModelIdentifier", Msg: fmt.Sprintf("there is no item %q", m.RootModelIdentifier)}
	}
	if err := checkPath(item.Path); err != nil {
		return "", &FormatError{Offset: -1, Field: "itemInfoEntries[" + m.RootModelIdentifier + "].path", Err: err}
	}
	return path.Join("Data", item.Path), nil
}

func parseManifest(data []byte) (*manifest, error) {
	if len(data) > maxManifest {
		return nil, &FormatError{Offset: -1, Msg: fmt.Sprintf("%d bytes are too many for a manifest", len(data))}
	}
	m := &manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, jsonError("the manifest is not valid", err)
	}
	return m, nil
}

// openPackage opens an .mlpackage.
func openPackage(src source) (*Model, error) {
	data, err := src.open(manifestName)
	if err != nil {
		return nil, err
	}
	contents, err := parseManifest(data)
	if err != nil {
		return nil, inFile(src.display(manifestName), err)
	}
	root, err := contents.rootModel()
	if err != nil {
		return nil, inFile(src.display(manifestName), err)
	}
	data, err = src.open(root)
	if err != nil {
		return nil, err
	}
	file := &modelFile{format: Package, name: src.display(root), src: src, weights: newWeightStore(src, path.Dir(root))}
	m, err := decodeModel(file, message{data, 0}, 0)
	return m, inFile(file.name, err)
}

// openText opens a MIL text. It has no description: the features follow from the types of its functions, so
// the whole text is read at once.
func openText(file *modelFile, data []byte) (*Model, error) {
	p, err := mil.ParseText(file.name, data, file.weights)
	if err != nil {
		return nil, err
	}
	m := &Model{Format: file.format, Type: MLProgram, Size: int64(len(data)), file: file}
	m.decode = func() (*mil.Program, []UnknownField, error) { return p, nil, nil }
	m.Description = deriveDescription(p)
	return m, nil
}
