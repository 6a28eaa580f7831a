package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// A Bundle is an open bundle, or one in memory (New). The files of an open one
// are mapped: what its methods return is valid until Close, and not to be written
// to.
type Bundle struct {
	Manifest *Manifest
	Program  *e5.Program

	id         string
	mappings   []*osfile.Mapping
	files      map[string][]byte
	containers map[string]*hwx.File
	weights    map[string]Weight
}

// IsBundle reports whether the folder has a manifest of ours, be it of another
// version or damaged further on.
func IsBundle(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	_, _, err = readManifest(root)
	return !errors.Is(err, ErrNotBundle)
}

// Open opens the bundle in the folder and checks it: that every file is there
// and has its digest, that the descriptor and the containers can be read, and
// that the manifest and the descriptor agree.
func Open(dir string) (*Bundle, error) { return open(dir, true) }

// OpenTrusted does as Open but for the digests, of which it checks the sizes
// alone. It is for folders that only we write to: no page of the weights is read
// before it is used.
func OpenTrusted(dir string) (*Bundle, error) { return open(dir, false) }

func open(dir string, digests bool) (b *Bundle, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bundle %s: %w", dir, err)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, plain(err)
	}
	defer root.Close()
	m, id, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	b = newBundle(m)
	b.id = id
	defer func() {
		if err != nil {
			b.Close()
			b = nil
		}
	}()
	for _, f := range m.Files {
		if err := b.load(root, f, digests); err != nil {
			return b, err
		}
	}
	return b, b.agree()
}

func newBundle(m *Manifest) *Bundle {
	b := &Bundle{Manifest: m, files: map[string][]byte{}, containers: map[string]*hwx.File{}, weights: map[string]Weight{}}
	for _, w := range m.Weights {
		b.weights[w.Name] = w
	}
	return b
}

// readManifest returns the manifest of a folder and the bundle's ID.
func readManifest(root *os.Root) (*Manifest, string, error) {
	f, err := openRegular(root, manifestName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, osfile.ErrNotRegular) {
		return nil, "", badFile(manifestName, fmt.Errorf("%w: %w", ErrNotBundle, plain(err)))
	}
	if err != nil {
		return nil, "", badFile(manifestName, plain(err))
	}
	defer f.Close()
	return readManifestOf(f)
}

func readManifestOf(r io.Reader) (*Manifest, string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, "", badFile(manifestName, plain(err))
	}
	m, err := ParseManifest(data)
	return m, digest(data), err
}

// openRegular opens a file that is not a folder, pipe or device. The root keeps
// links from leading out of the bundle.
func openRegular(root *os.Root, path string) (*os.File, error) {
	info, err := root.Stat(path) // before it is opened: a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, osfile.ErrNotRegular
	}
	return root.Open(path)
}

// plain takes the path from an error whose text names the file already.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// load maps a file and checks it.
func (b *Bundle) load(root *os.Root, want File, digests bool) error {
	path := filepath.FromSlash(want.Path)
	f, err := openRegular(root, path)
	if err != nil {
		return badFile(want.Path, plain(err))
	}
	defer f.Close()
	mapping, err := osfile.MapFile(f)
	if err != nil {
		return badFile(want.Path, plain(err))
	}
	b.mappings = append(b.mappings, mapping)
	return b.take(want, mapping.Bytes(), digests)
}

// take checks a file, and keeps it.
func (b *Bundle) take(want File, data []byte, digests bool) (err error) {
	b.files[want.Path] = data
	if int64(len(data)) != want.Size {
		return badFile(want.Path, fmt.Errorf("%w: it has %d bytes instead of %d", ErrDigest, len(data), want.Size))
	}
	if digests {
		if got := digest(data); got != want.SHA256 {
			return badFile(want.Path, fmt.Errorf("%w: its SHA-256 is %s instead of %s", ErrDigest, got, want.SHA256))
		}
	}
	switch want.Role {
	case RoleProgram:
		if b.Program, err = e5.Decode(data); err != nil {
			return badFile(want.Path, err)
		}
	case RoleContainer:
		c, err := hwx.NewFile(data)
		if err != nil {
			return badFile(want.Path, err)
		}
		b.containers[want.Path] = c
	}
	return nil
}

func (b *Bundle) agree() error { return b.Manifest.agree(b.Program) }

// ID is the SHA-256 of the manifest, and so stands for the content of the whole
// bundle. A bundle in memory has none.
func (b *Bundle) ID() string { return b.id }

// Container returns the container of an engine segment by its path, nil if there
// is none.
func (b *Bundle) Container(path string) *hwx.File { return b.containers[path] }

// Host returns the host program, "" if there is none.
func (b *Bundle) Host() string { return string(b.Bytes(HostPath)) }

// Weight returns the bytes of a weight, false if there is none of the name.
func (b *Bundle) Weight(name string) ([]byte, bool) {
	w, ok := b.weights[name]
	if !ok {
		return nil, false
	}
	end := w.Offset + w.Size
	return b.Bytes(w.File)[w.Offset:end:end], true
}

// Bytes returns the content of a file of the bundle, nil if there is none. In
// memory a container has no bytes yet.
func (b *Bundle) Bytes(path string) []byte { return b.files[path] }

// Close releases the files. Further calls do nothing.
func (b *Bundle) Close() error {
	var all []error
	for _, m := range b.mappings {
		all = append(all, m.Close())
	}
	b.mappings, b.files, b.containers, b.weights = nil, nil, nil, nil
	return errors.Join(all...)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
