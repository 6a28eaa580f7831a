package tensor

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/espalier-ane/espalier/internal/osfile"
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

// ReadNPZ reads NumPy's archive of arrays, in the order of the archive. A name that occurs twice is an error, and so are
// arrays that do not fit in memory together: a few bytes can be unpacked to any number.
func ReadNPZ(r io.ReaderAt, size int64) ([]Named, error) {
	return ReadNPZWithin(r, size, osfile.MemoryLimit())
}

// ReadNPZWithin is ReadNPZ of arrays that together take no more than some bytes. The error about more wraps the ErrLimit of
// package espalier.
func ReadNPZWithin(r io.ReaderAt, size, memory int64) ([]Named, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	seen := map[string]bool{}
	out := make([]Named, 0, len(z.File))
	used := int64(0)
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("npz: entry %q is not an array (.npy)", f.Name)
		}
		if seen[name] {
			return nil, fmt.Errorf("npz: array %q is there twice", name)
		}
		seen[name] = true
		t, err := readEntry(f, room{there: unpackedSize(f, size), used: used, memory: memory})
		if err != nil {
			return nil, fmt.Errorf("npz: array %q: %w", name, err)
		}
		used += takenBy(t)
		out = append(out, Named{name, t})
	}
	return out, nil
}

// maxInflation is how many bytes deflate can make of one.
const maxInflation = 1040

// unpackedSize bounds the bytes of an entry. What the archive says of it may be a lie.
func unpackedSize(f *zip.File, archive int64) int64 {
	packed := uint64(archive)
	if f.CompressedSize64 < packed {
		packed = f.CompressedSize64
	}
	if f.Method != zip.Store && packed < math.MaxInt64/maxInflation {
		packed = packed*maxInflation + maxInflation
	}
	return int64(min(packed, f.UncompressedSize64, math.MaxInt64-1))
}

// takenBy is the memory of an array.
func takenBy(t *Tensor) int64 {
	if t.dtype != String {
		return int64(len(t.data))
	}
	n := int64(0)
	for _, s := range t.strs {
		n += textOverhead + int64(len(s))
	}
	return n
}

func readEntry(f *zip.File, m room) (*Tensor, error) {
	rc, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	t, err := readNPY(rc, m)
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
