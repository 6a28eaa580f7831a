// Package osfile does the two things with files that the standard library
// leaves to its caller: it maps a file into memory read-only, and it replaces
// a file or a folder atomically. It knows nothing of what the files hold.
package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
)

// ErrNotRegular is wrapped by the errors about a path that is a directory, a
// device, a pipe or a socket, where a regular file is needed.
var ErrNotRegular = errors.New("not a regular file")

// A Mapping is the content of a file, held read-only. Where the system can
// map files, pages are loaded when they are first touched, so that mapping a
// file of many gigabytes costs neither time nor memory.
//
// The file must not shrink while it is mapped: touching a page past its end is
// then a fault that the program does not survive. On Windows, the file cannot
// be removed or replaced before Close.
type Mapping struct {
	data  []byte
	unmap func([]byte) error // nil when there is nothing to release
}

// Bytes returns the content. It must not be written to, nor used after Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Close releases the mapping. Further calls do nothing.
func (m *Mapping) Close() error {
	data, unmap := m.data, m.unmap
	m.data, m.unmap = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap(data)
}

// Map maps the regular file at path. An empty file gives an empty mapping.
func Map(path string) (*Mapping, error) {
	// Ask before opening: opening a pipe without a writer would wait for one.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkMappable(path, info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return MapFile(f)
}

// MapFile maps the whole of f, whatever its offset. The mapping outlives f,
// which the caller may close at once.
func MapFile(f *os.File) (*Mapping, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkMappable(f.Name(), info); err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return &Mapping{}, nil // systems refuse to map nothing
	}
	m, err := mapFile(f, int(info.Size()))
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: f.Name(), Err: err}
	}
	return m, nil
}

// checkMappable says why the file cannot be mapped, if it cannot.
func checkMappable(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "map", Path: path, Err: ErrNotRegular}
	}
	if size := info.Size(); size < 0 || uint64(size) > math.MaxInt {
		return &fs.PathError{Op: "map", Path: path, Err: fmt.Errorf("%d bytes do not fit into the address space", size)}
	}
	return nil
}
