package coreml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// source is the folder or archive that a model's files are in. Names are slash-separated paths inside it.
type source interface {
	// open returns the content of a file, which is valid until close. Every file is opened once.
	open(name string) ([]byte, error)
	// peek opens a file for reading a few places of it, without mapping or loading the rest.
	peek(name string) (readerAtCloser, int64, error)
	// stat returns the size of a file; the error is that of a missing file if name is a folder.
	stat(name string) (int64, error)
	// identity is what a file that was opened is known by. That of a file within an archive is the archive's, and
	// within is its name there.
	identity(name string) (id osfile.Identity, within string, ok bool)

	// changed says of a file that was opened and written to since that it was.
	changed() error
	// display is what messages call a file.
	display(name string) string
	close() error
}

type readerAtCloser interface {
	io.ReaderAt
	io.Closer
}

// checkPath refuses the names that could lead out of a package on any system: absolute ones, those with a
// drive letter, with backslashes, with ".." or with empty elements.
func checkPath(name string) error {
	drive := len(name) >= 2 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
	switch {
	case name == "" || name == ".":
		return errors.New("the path is empty")
	case strings.HasPrefix(name, "/"), drive, strings.ContainsAny(name, "\\\x00"),
		slices.Contains(strings.Split(name, "/"), ".."):
		return fmt.Errorf("%q: %w", name, ErrOutsidePackage)
	case !fs.ValidPath(name):
		return fmt.Errorf("%q is not a valid path", name)
	}
	return nil
}

// lfsHeader begins a Git LFS pointer, the small text that stands in a clone for a file not downloaded.
const lfsHeader = "version https://git-lfs.github.com/spec/v1"

// IsLFSPointer reports whether a file begins as a Git LFS pointer.
func IsLFSPointer(data []byte) bool { return bytes.HasPrefix(data, []byte(lfsHeader)) }

// checkPointer refuses such a file.
func checkPointer(display string, data []byte) error {
	if IsLFSPointer(data) {
		return &FormatError{File: display, Offset: -1, Err: ErrLFSPointer}
	}
	return nil
}

// folder is a source on disk. Symbolic links that lead out of it are not followed.
type folder struct {
	path string
	load loader

	mu       sync.Mutex
	root     *os.Root // opened when the first file is
	mappings map[string]*osfile.Mapping
	closed   bool
}

func newFolder(path string, load loader) *folder {
	return &folder{path: path, load: load, mappings: map[string]*osfile.Mapping{}}
}

func (d *folder) display(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// openFile opens a regular file of the folder.
func (d *folder) openFile(name string) (*os.File, error) {
	if err := checkPath(name); err != nil {
		return nil, &FormatError{File: d.path, Offset: -1, Err: err}
	}
	if d.closed {
		return nil, &fs.PathError{Op: "open", Path: d.display(name), Err: fs.ErrClosed}
	}
	if d.root == nil {
		root, err := os.OpenRoot(d.path)
		if err != nil {
			return nil, err
		}
		d.root = root
	}
	native := filepath.FromSlash(name)
	info, err := d.root.Stat(native) // before opening: a pipe without a writer would block
	if err != nil {
		return nil, d.explain(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: d.display(name), Err: osfile.ErrNotRegular}
	}
	f, err := d.root.Open(native)
	if err != nil {
		return nil, d.explain(name, err)
	}
	return f, nil
}

// explain gives an error of d.root the whole path, and says when a link leaves the folder. The os package
// has no name for that error: it is the one that the folder above has.
func (d *folder) explain(name string, err error) error {
	err = withoutPath(err)
	if _, above := d.root.Stat(".."); above != nil && errors.Is(err, withoutPath(above)) {
		return &FormatError{File: d.display(name), Offset: -1, Msg: "a symbolic link", Err: ErrOutsidePackage}
	}
	return &fs.PathError{Op: "open", Path: d.display(name), Err: err}
}

func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

func (d *folder) open(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m, ok := d.mappings[name]; ok {
		return m.Bytes(), nil
	}
	f, err := d.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := d.loadFile(f, d.display(name))
	if err != nil {
		return nil, err
	}
	d.mappings[name] = m
	return m.Bytes(), nil
}

func (d *folder) loadFile(f *os.File, display string) (m *osfile.Mapping, err error) {
	if m, err = d.load(f); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	defer osfile.Protect().Catch(&err)
	return m, checkPointer(display, m.Bytes())
}

// openAlone opens a regular file by the name that the caller gave. Unlike those in the folder, it may be a link to anywhere.
func (d *folder) openAlone(name string) (*osfile.Mapping, error) {
	info, err := os.Stat(name) // before opening: a pipe without a writer would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: osfile.ErrNotRegular}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return d.loadFile(f, name)
}

func (d *folder) identity(name string) (osfile.Identity, string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, ok := d.mappings[name]
	if !ok {
		return osfile.Identity{}, "", false
	}
	id, ok := m.Identity()
	return id, "", ok
}

func (d *folder) changed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.mappings {
		if err := m.Changed(); err != nil {
			return err
		}
	}
	return nil
}

func (d *folder) peek(name string) (readerAtCloser, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.openFile(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (d *folder) stat(name string) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.openFile(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d *folder) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, m := range d.mappings {
		errs = append(errs, m.Close())
	}
	if d.root != nil {
		errs = append(errs, d.root.Close())
	}
	d.mappings, d.root, d.closed = map[string]*osfile.Mapping{}, nil, true
	return errors.Join(errs...)
}
