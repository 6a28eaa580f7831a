package coreml

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// OpenFS opens a model of a file system, as Open does one on disk: name is a file or folder there. What is read of it is
// read into memory whole, when it is first needed.
func OpenFS(fsys fs.FS, name string) (*Model, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		below, err := fs.Sub(fsys, name)
		if err != nil {
			return nil, err
		}
		return openSource(newTree(name, below))
	}
	beside, err := fs.Sub(fsys, path.Dir(name))
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return OpenBytes(name, data, beside)
}

// OpenBytes opens a model file that is in memory, which must not be changed before Close. Messages call it by its name.
// Files that it refers to are looked for beside it; nil is for one that stands alone: an archive, or a program without a
// weight file.
func OpenBytes(name string, data []byte, beside fs.FS) (*Model, error) {
	return openData(name, osfile.Held(data), newTree(path.Dir(name), beside))
}

// tree is a source in a file system: what was opened of it is in memory.
type tree struct {
	path string // what messages call it
	fsys fs.FS  // nil if there is none

	mu     sync.Mutex
	opened map[string][]byte
	closed bool
}

func newTree(path string, fsys fs.FS) *tree {
	return &tree{path: path, fsys: fsys, opened: map[string][]byte{}}
}

func (d *tree) display(name string) string { return path.Join(d.path, name) }

// find returns the size of a regular file.
func (d *tree) find(name string) (int64, error) {
	if err := checkPath(name); err != nil {
		return 0, &FormatError{File: d.path, Offset: -1, Err: err}
	}
	fail := func(err error) (int64, error) {
		return 0, &fs.PathError{Op: "open", Path: d.display(name), Err: withoutPath(err)}
	}
	if d.closed {
		return fail(fs.ErrClosed)
	}
	if d.fsys == nil {
		return fail(fmt.Errorf("%w: the model is in memory, with no files beside it; take a zip archive of its package instead", fs.ErrNotExist))
	}
	info, err := fs.Stat(d.fsys, name)
	switch {
	case err != nil:
		return fail(err)
	case !info.Mode().IsRegular():
		return fail(osfile.ErrNotRegular)
	}
	return info.Size(), nil
}

func (d *tree) open(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if data, ok := d.opened[name]; ok {
		return data, nil
	}
	if _, err := d.find(name); err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(d.fsys, name)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: d.display(name), Err: withoutPath(err)}
	}
	if err := checkPointer(d.display(name), data); err != nil {
		return nil, err
	}
	d.opened[name] = osfile.Held(data).Bytes()
	return d.opened[name], nil
}

func (d *tree) peek(name string) (readerAtCloser, int64, error) {
	data, err := d.open(name)
	if err != nil {
		return nil, 0, err
	}
	return memory{bytes.NewReader(data)}, int64(len(data)), nil
}

func (d *tree) stat(name string) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.find(name)
}

// identity: what is in memory has none.
func (d *tree) identity(string) (osfile.Identity, string, bool) { return osfile.Identity{}, "", false }

// changed: what is in memory does not change.
func (d *tree) changed() error { return nil }

func (d *tree) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened, d.closed = map[string][]byte{}, true
	return nil
}

// IsArchive reports whether data begins as a zip archive does.
func IsArchive(data []byte) bool { return isZip(data) }

// ArchiveFS returns the files of a zip archive that is in memory, below the folder that holds them all, if one does. They
// are unpacked within the bounds that Open has for a package. It knows files alone, no folders.
func ArchiveFS(name string, data []byte) (fs.FS, error) {
	a, err := newArchive(name, osfile.Held(data))
	return archiveFS{a}, err
}

type archiveFS struct{ *archive }

func (a archiveFS) Open(name string) (fs.File, error) {
	data, err := a.open(name)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f, _ := a.find(name)
	return &archiveFile{bytes.NewReader(data), sizedInfo{f.FileInfo(), int64(len(data))}}, nil
}

// ReadFile returns the file without a copy: it is not to be written to.
func (a archiveFS) ReadFile(name string) ([]byte, error) { return a.open(name) }

// archiveFile is an entry of an archive that is open.
type archiveFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *archiveFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *archiveFile) Close() error               { return nil }

// sizedInfo has the size that an entry unpacked to, whatever the archive says.
type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (i sizedInfo) Size() int64 { return i.size }
