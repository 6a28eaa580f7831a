package bundle

import (
	"context"
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
	before     []func() error // that Close calls
	files      map[string][]byte
	containers map[string]*hwx.File
	weights    map[string]Weight
}

// IsBundle reports whether the folder has a manifest of ours, be it of another
// version or damaged further on.
func IsBundle(dir string) bool {
	opened := false
	err := inFolder(dir, func(root *os.Root) error {
		opened = true
		_, _, err := readManifest(root)
		return err
	})
	return opened && !errors.Is(err, ErrNotBundle)
}

// maxReplaced is how often a folder may be replaced while it is read.
const maxReplaced = 1000

// inFolder reads a folder, and if that fails reads it anew when the folder is
// another one by now: whoever replaces a bundle removes the old one while it may
// still be read.
func inFolder(dir string, read func(*os.Root) error) error {
	for try := 0; ; try++ {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return plain(err)
		}
		if err = read(root); err == nil || try == maxReplaced || !replaced(dir, root) {
			root.Close()
			return err
		}
		root.Close()
	}
}

// replaced reports whether the folder of the name is not the one that is open.
func replaced(dir string, root *os.Root) bool {
	was, err := root.Stat(".")
	if err != nil {
		return false
	}
	is, err := os.Stat(dir)
	return err == nil && !os.SameFile(was, is)
}

// Open opens the bundle in the folder and checks it: that every file is there
// and has its digest, that the descriptor and the containers can be read, and
// that the manifest and the descriptor agree.
func Open(dir string) (*Bundle, error) { return OpenContext(context.Background(), dir) }

// OpenContext is Open that ends with the context: large weights take their time.
func OpenContext(ctx context.Context, dir string) (*Bundle, error) {
	return opener{ctx, osfile.MapFile, true}.open(dir)
}

// OpenCopy is OpenContext into memory: what happens to the files afterwards does
// not matter.
func OpenCopy(ctx context.Context, dir string) (*Bundle, error) {
	return opener{ctx, osfile.CopyFile, true}.open(dir)
}

// OpenTrusted does as Open but for the digests, of which it checks the sizes
// alone. It is for folders that only we write to: no page of the weights is read
// before it is used.
func OpenTrusted(dir string) (*Bundle, error) {
	return opener{context.Background(), osfile.MapFile, false}.open(dir)
}

// An opener says how a bundle is opened.
type opener struct {
	ctx     context.Context
	load    func(*os.File) (*osfile.Mapping, error)
	digests bool // are checked
}

func (o opener) open(dir string) (b *Bundle, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bundle %s: %w", dir, err)
		}
	}()
	err = inFolder(dir, func(root *os.Root) (err error) {
		b, err = o.openIn(root)
		return err
	})
	return b, err
}

// openIn opens the bundle in a folder that is open.
func (o opener) openIn(root *os.Root) (b *Bundle, err error) {
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
	defer osfile.Protect().Catch(&err)
	for _, f := range m.Files {
		if err := b.load(root, f, o); err != nil {
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
func (b *Bundle) load(root *os.Root, want File, o opener) error {
	path := filepath.FromSlash(want.Path)
	f, err := openRegular(root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return badFile(want.Path, fmt.Errorf("%w: copy the bundle with all its files, or compile the model again", fs.ErrNotExist))
	}
	if err != nil {
		return badFile(want.Path, plain(err))
	}
	defer f.Close()
	mapping, err := o.load(f)
	if err != nil {
		return badFile(want.Path, plain(err))
	}
	b.mappings = append(b.mappings, mapping)
	return b.take(want, mapping.Bytes(), o)
}

// take checks a file, and keeps it.
func (b *Bundle) take(want File, data []byte, o opener) (err error) {
	b.files[want.Path] = data
	if int64(len(data)) != want.Size {
		return badFile(want.Path, fmt.Errorf("%w: it has %d bytes instead of %d", ErrDigest, len(data), want.Size))
	}
	if o.digests {
		got, err := digestContext(o.ctx, data)
		if err != nil {
			return err
		}
		if got != want.SHA256 {
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

// Hold makes a mapping, of which a bundle in memory was made, one of the bundle:
// Changed asks it, and Close releases it.
func (b *Bundle) Hold(m *osfile.Mapping) { b.mappings = append(b.mappings, m) }

// Changed says of a file that was written to since it was mapped that it was. The
// error wraps that of package osfile.
func (b *Bundle) Changed() error {
	for _, m := range b.mappings {
		if err := m.Changed(); err != nil {
			return err
		}
	}
	return nil
}

// BeforeClose has Close call f first: of somebody who uses the files, and ends
// that. If f cannot, Close returns its error.
func (b *Bundle) BeforeClose(f func() error) { b.before = append(b.before, f) }

// Close releases the files, once nobody uses them: a library of package e5rt is
// closed. If that cannot be, it returns an error, and may be called again. Further
// calls do nothing.
func (b *Bundle) Close() error {
	for _, f := range b.before {
		if err := f(); err != nil {
			return err
		}
	}
	var all []error
	for _, m := range b.mappings {
		all = append(all, m.Close())
	}
	b.before, b.mappings, b.files, b.containers, b.weights = nil, nil, nil, nil, nil
	return errors.Join(all...)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digestContext is digest that ends with the context.
func digestContext(ctx context.Context, data []byte) (string, error) {
	const piece = 16 << 20 // some 10 ms
	sum := sha256.New()
	for len(data) > 0 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n := min(len(data), piece)
		sum.Write(data[:n])
		data = data[n:]
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
