package tensor

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// Named is an array of an npz archive.
type Named struct {
	Name   string
	Tensor *Tensor
}

// IsNPZ reports whether a file begins as an archive of arrays does: as every zip archive, perhaps an empty one.
func IsNPZ(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte("PK\x05\x06"))
}

// ReadNPZ reads NumPy's archive of arrays, in the order of the archive. A name that occurs twice is an error.
func ReadNPZ(r io.ReaderAt, size int64) ([]Named, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	seen := map[string]bool{}
	out := make([]Named, 0, len(z.File))
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("npz: entry %q is not an array (.npy)", f.Name)
		}
		if seen[name] {
			return nil, fmt.Errorf("npz: array %q is there twice", name)
		}
		seen[name] = true
		t, err := readEntry(f)
		if err != nil {
			return nil, fmt.Errorf("npz: array %q: %w", name, err)
		}
		out = append(out, Named{name, t})
	}
	return out, nil
}

func readEntry(f *zip.File) (*Tensor, error) {
	rc, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	t, err := ReadNPY(rc)
	if err != nil {
		return nil, err
	}
	// Reading on to the end makes the archive check its checksum.
	if n, err := io.Copy(io.Discard, io.LimitReader(rc, 1)); err != nil {
		return nil, err
	} else if n > 0 {
		return nil, fmt.Errorf("npy: there are bytes after the last element")
	}
	return t, nil
}

// OpenNPZ reads an npz archive from a file.
func OpenNPZ(path string) ([]Named, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	arrays, err := ReadNPZ(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return arrays, nil
}

// WriteNPZ writes an npz archive that numpy.load reads with allow_pickle=False. The same arrays give the
// same bytes.
func WriteNPZ(w io.Writer, arrays []Named) error {
	z := zip.NewWriter(w)
	for _, a := range arrays {
		e, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
		if err != nil {
			return fmt.Errorf("npz: array %q: %w", a.Name, err)
		}
		if err := WriteNPY(e, a.Tensor); err != nil {
			return fmt.Errorf("npz: array %q: %w", a.Name, err)
		}
	}
	return z.Close()
}
