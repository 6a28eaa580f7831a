// Package osfile does the things with files that the standard library leaves to
// its caller: it maps a file into memory, makes an error of what
// happens when the file changes under its mapping, and replaces a file or a
// folder atomically. It knows nothing of what the files hold.
package osfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

// ErrNotRegular is wrapped by the errors about a path that is a directory, a
// device, a pipe or a socket, where a regular file is needed.
var ErrNotRegular = errors.New("not a regular file")

// A Mapping is the content of a file, held read-only unless MapWritable made it. Where the system can
// map files, pages are loaded when they are first touched, so that mapping a
// file of many gigabytes costs neither time nor memory.
//
// The file must not be written to while it is mapped. Touching a page past the
// end of one that shrank is a fault, of which Protect makes an error; Changed
// tells of other changes. On Windows, the file cannot be removed or replaced
// before Close.
type Mapping struct {
	path string
	data []byte
	sys  *mapped // nil when nothing is mapped: an empty file, or a copy
	was  stamp   // what the file was like when it was mapped

	copied Identity // of the file that this is a copy of; zero if there is none
}

// A stamp is what changes with the content of a file. Renaming and removing the
// file leave it as it is.
type stamp struct {
	size, seconds, nanoseconds int64
}

// Bytes returns the content. It must not be written to, unless MapWritable made it, nor used after Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Close releases the mapping. Further calls do nothing.
func (m *Mapping) Close() error {
	sys := m.sys
	m.data, m.sys = nil, nil
	if sys == nil {
		return nil
	}
	forget(sys)
	return sys.release()
}

// Changed says of a file that was written to since it was mapped that it was, in
// a *FileError that wraps ErrChanged. It takes a microsecond and allocates
// nothing. A file that was renamed or removed is what it was, and so is a copy.
// It must not be called during Close.
func (m *Mapping) Changed() error {
	if m.sys == nil {
		return nil
	}
	return m.changed(m.sys)
}

func (m *Mapping) changed(sys *mapped) error {
	now, err := sys.stamp()
	switch {
	case err != nil:
		return &FileError{m.path, err}
	case now.size != m.was.size:
		return &FileError{m.path, fmt.Errorf("%w: it had %d bytes, and has %d", ErrChanged, m.was.size, now.size)}
	case now != m.was:
		return &FileError{m.path, ErrChanged}
	}
	return nil
}

// Map maps the regular file at path. An empty file gives an empty mapping.
func Map(path string) (*Mapping, error) { return open(path, MapFile) }

// open opens the regular file at path for load.
func open(path string, load func(*os.File) (*Mapping, error)) (*Mapping, error) {
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
	return load(f)
}

// MapFile maps the whole of f, whatever its offset. The mapping outlives f,
// which the caller may close at once.
func MapFile(f *os.File) (*Mapping, error) { return mapWhole(f, false) }

// MapWritable maps the regular file at path such that what is written to the mapping is written to the file, by Close at the
// latest. A file that is not there is made, and one that has less than so many bytes is made longer, by zeros.
func MapWritable(path string, size int) (*Mapping, error) {
	if info, err := os.Stat(path); err == nil { // as in open
		if err := checkMappable(path, info); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if has, err := mappableSize(f); err != nil {
		return nil, err
	} else if has < size {
		if err := f.Truncate(int64(size)); err != nil {
			return nil, err
		}
	}
	return mapWhole(f, true)
}

func mapWhole(f *os.File, write bool) (*Mapping, error) {
	size, err := mappableSize(f)
	if err != nil || size == 0 { // systems refuse to map nothing
		return &Mapping{path: f.Name()}, err
	}
	m := &Mapping{path: f.Name()}
	if m.sys, err = mapFile(f, size, write); err != nil {
		return nil, &fs.PathError{Op: "map", Path: m.path, Err: err}
	}
	m.data = m.sys.data
	if m.was, err = m.sys.stamp(); err == nil && m.was.size != int64(size) {
		err = ErrChanged // just now
	}
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: m.path, Err: errors.Join(err, m.sys.release())}
	}
	remember(m.sys, m)
	return m, nil
}

// Copy is Map into memory of the process: what happens to the file afterwards
// does not matter.
func Copy(path string) (*Mapping, error) { return open(path, CopyFile) }

// CopyFile is MapFile into memory of the process.
func CopyFile(f *os.File) (*Mapping, error) {
	size, err := mappableSize(f)
	if err != nil {
		return nil, err
	}
	if most := Memory(); most > 0 && int64(size) > most {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("%d bytes do not fit into the memory of the machine, which has %d", size, most)}
	}
	m := &Mapping{path: f.Name(), data: make([]byte, size)}
	before, _ := IdentityOf(f)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), m.data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: err}
	}
	if after, ok := IdentityOf(f); ok && after == before && after.Size == int64(size) {
		m.copied = after
	}
	return m, nil
}

// mappableSize is the size of a file that can be mapped.
func mappableSize(f *os.File) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return int(info.Size()), checkMappable(f.Name(), info)
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
