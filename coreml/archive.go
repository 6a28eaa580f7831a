package coreml

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// archive is a source in a zip archive. Nothing is written to disk: an entry that is stored is a view of the
// mapped archive, one that is compressed is unpacked into memory.
type archive struct {
	path    string
	mapping *osfile.Mapping
	entries map[string]*zip.File // by name, below the folder that holds everything

	mu     sync.Mutex
	opened map[string][]byte
	budget int64 // how many bytes may still be unpacked
	closed bool
}

// An archive may unpack to this many bytes, and to this many times its own size if that is more. Weights
// shrink to a half or a tenth, not to a thousandth as the entries of an archive made to exhaust memory.
const (
	unpackAlways = 64 << 20
	unpackRatio  = 32
)

// isZip reports whether a file begins as a zip archive, perhaps an empty one.
func isZip(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte("PK\x05\x06"))
}

// newArchive reads the directory of an archive. The mapping belongs to it if there is no error.
func newArchive(path string, mapping *osfile.Mapping) (*archive, error) {
	data := mapping.Bytes()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // paths are ours to check
		return nil, &FormatError{File: path, Offset: -1, Msg: "the archive cannot be read", Err: err}
	}
	a := &archive{
		path:    path,
		mapping: mapping,
		entries: map[string]*zip.File{},
		opened:  map[string][]byte{},
		budget:  max(unpackAlways, unpackRatio*int64(len(data))),
	}
	top := topFolder(r.File)
	for _, f := range r.File {
		name, ok := strings.CutPrefix(f.Name, top)
		if !ok || strings.HasSuffix(name, "/") {
			continue
		}
		if a.entries[name] != nil {
			return nil, badFile(path, "the archive has two entries %q", f.Name)
		}
		a.entries[name] = f
	}
	return a, nil
}

// topFolder returns the folder that holds all of an archive, with a slash: "model.mlpackage/", or "" if there
// is none. What macOS adds for its own purposes does not count.
func topFolder(files []*zip.File) string {
	top := ""
	for _, f := range files {
		if strings.HasPrefix(f.Name, "__MACOSX/") || f.Name == ".DS_Store" {
			continue
		}
		first, _, nested := strings.Cut(f.Name, "/")
		switch {
		case !nested:
			return "" // a file at the top
		case top == "":
			top = first + "/"
		case top != first+"/":
			return ""
		}
	}
	if top == "Data/" { // a package without its manifest
		return ""
	}
	return top
}

func (a *archive) display(name string) string {
	if name == "." {
		return a.path
	}
	return a.path + ":" + name
}

func (a *archive) find(name string) (*zip.File, error) {
	if err := checkPath(name); err != nil {
		return nil, &FormatError{File: a.path, Offset: -1, Err: err}
	}
	f, ok := a.entries[name]
	switch {
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: a.display(name), Err: fs.ErrNotExist}
	case f.Mode()&fs.ModeSymlink != 0:
		return nil, &FormatError{File: a.display(name), Offset: -1, Msg: "a symbolic link in an archive is not followed", Err: ErrOutsidePackage}
	case !f.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: a.display(name), Err: osfile.ErrNotRegular}
	case f.Flags&1 != 0:
		return nil, &FormatError{File: a.display(name), Offset: -1, Msg: "the entry is encrypted", Err: ErrNotSupported}
	}
	return f, nil
}

func (a *archive) open(name string) ([]byte, error) {
	f, err := a.find(name)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, &fs.PathError{Op: "open", Path: a.display(name), Err: fs.ErrClosed}
	}
	if data, ok := a.opened[name]; ok {
		return data, nil
	}
	var data []byte
	if f.Method == zip.Store {
		data, err = a.stored(f)
	} else {
		data, err = a.unpack(f)
	}
	if err == nil {
		err = checkPointer(a.display(name), data)
	}
	if err != nil {
		return nil, inFile(a.display(name), err)
	}
	a.opened[name] = data
	return data, nil
}

// stored returns the data of an entry that is not compressed, without copying. Its checksum is not
// verified: that would load all of it.
func (a *archive) stored(f *zip.File) ([]byte, error) {
	all := a.mapping.Bytes()
	start, err := f.DataOffset()
	if err != nil {
		return nil, &FormatError{Offset: -1, Msg: "the entry cannot be read", Err: err}
	}
	size := f.UncompressedSize64
	if start < 0 || start > int64(len(all)) || size > uint64(int64(len(all))-start) || f.CompressedSize64 != size {
		return nil, damage(start, "the entry lies outside the archive: 0x%x bytes at 0x%x of 0x%x", size, start, len(all))
	}
	return all[start : start+int64(size) : start+int64(size)], nil
}

// unpack returns the data of a compressed entry. It believes none of the sizes that the archive declares.
func (a *archive) unpack(f *zip.File) ([]byte, error) {
	if f.UncompressedSize64 > uint64(a.budget) {
		return nil, a.tooLarge(f)
	}
	r, err := f.Open()
	if err != nil {
		return nil, &FormatError{Offset: -1, Msg: "the entry cannot be read", Err: err}
	}
	defer r.Close()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, a.budget+1))
	if err != nil {
		var corrupt flate.CorruptInputError
		offset := int64(-1)
		if errors.As(err, &corrupt) {
			offset = int64(corrupt)
		}
		return nil, &FormatError{Offset: offset, Msg: "the entry cannot be unpacked", Err: err}
	}
	if n > a.budget {
		return nil, a.tooLarge(f)
	}
	a.budget -= n
	return out.Bytes(), nil
}

func (a *archive) tooLarge(f *zip.File) error {
	return &FormatError{Offset: -1, Msg: fmt.Sprintf(
		"the entry unpacks to more than is believable for an archive of %d bytes (%d bytes, of which %d are left); unpack the archive first",
		len(a.mapping.Bytes()), max(unpackAlways, unpackRatio*int64(len(a.mapping.Bytes()))), a.budget)}
}

// memory is an entry of an archive as a file.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func (a *archive) peek(name string) (readerAtCloser, int64, error) {
	data, err := a.open(name)
	if err != nil {
		return nil, 0, err
	}
	return memory{bytes.NewReader(data)}, int64(len(data)), nil
}

func (a *archive) stat(name string) (int64, error) {
	f, err := a.find(name)
	if err != nil {
		return 0, err
	}
	return int64(min(f.UncompressedSize64, 1<<62)), nil
}

func (a *archive) identity(name string) (osfile.Identity, string, bool) {
	id, ok := a.mapping.Identity()
	return id, name, ok
}

func (a *archive) changed() error { return a.mapping.Changed() }

func (a *archive) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opened, a.closed = map[string][]byte{}, true
	return a.mapping.Close()
}
