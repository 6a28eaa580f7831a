package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// IsBundleFS is IsBundle for the root of a file system.
func IsBundleFS(fsys fs.FS) bool {
	_, _, err := readManifestFS(fsys)
	return !errors.Is(err, ErrNotBundle)
}

// OpenFS opens the bundle at the root of a file system, and checks it as Open does. Its files are read into memory;
// messages call it by name.
func OpenFS(fsys fs.FS, name string) (*Bundle, error) {
	b, err := openFS(fsys)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", name, err)
	}
	return b, nil
}

func openFS(fsys fs.FS) (*Bundle, error) {
	m, id, err := readManifestFS(fsys)
	if err != nil {
		return nil, err
	}
	b := newBundle(m)
	b.id = id
	for _, want := range m.Files {
		data, err := readFileFS(fsys, want)
		if err != nil {
			return nil, badFile(want.Path, plain(err))
		}
		if err := b.take(want, data, opener{ctx: context.Background(), digests: true}); err != nil {
			return nil, err
		}
	}
	return b, b.agree()
}

func readManifestFS(fsys fs.FS) (*Manifest, string, error) {
	f, err := openRegularFS(fsys, manifestName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, osfile.ErrNotRegular) {
		return nil, "", badFile(manifestName, fmt.Errorf("%w: %w", ErrNotBundle, plain(err)))
	}
	if err != nil {
		return nil, "", badFile(manifestName, plain(err))
	}
	defer f.Close()
	return readManifestOf(f)
}

// openRegularFS opens a file that is not a folder, pipe or device.
func openRegularFS(fsys fs.FS, path string) (fs.File, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = osfile.ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readFileFS reads a file of the size that the manifest says.
func readFileFS(fsys fs.FS, want File) ([]byte, error) {
	f, err := openRegularFS(fsys, want.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != want.Size {
		return nil, fmt.Errorf("%w: it has %d bytes instead of %d", ErrDigest, info.Size(), want.Size)
	}
	data := osfile.Held(make([]byte, want.Size)).Bytes()
	_, err = io.ReadFull(f, data)
	return data, err
}
