package tensor

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/limit"
)

// packed is an archive of one array of zeros, compressed.
func packed(t *testing.T, header string, zeros int) []byte {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	w, err := z.Create("x.npy")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(w, "%s\x01\x00%c%c%s", npyMagic, byte(len(header)), byte(len(header)>>8), header)
	for part := make([]byte, 1<<20); zeros > 0; zeros -= len(part) {
		w.Write(part[:min(zeros, len(part))])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// allocated is how much memory f takes, all in all.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// An archive is unpacked once, and not at all if its arrays take more than they may.
func TestNPZWithin(t *testing.T) {
	const size = 64 << 20
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", size/4)
	file := packed(t, header, size)
	read := func(memory int64) (taken int, err error) {
		taken = allocated(func() { _, err = ReadNPZWithin(bytes.NewReader(file), int64(len(file)), memory) })
		return taken, err
	}
	if taken, err := read(size); err != nil || taken > size+size/4 {
		t.Errorf("%v, and %d bytes for %d", err, taken, size)
	}
	taken, err := read(size - 1)
	var limited *limit.Error
	if !errors.Is(err, limit.ErrExceeded) || !errors.As(err, &limited) || limited.Asked != size || limited.Allowed != size-1 {
		t.Errorf("one byte too many: %v", err)
	}
	if taken > 1<<20 {
		t.Errorf("%d bytes were taken to say so", taken)
	}
	// What the header promises and the archive cannot have is not made room for.
	file = packed(t, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,), }", 1<<20)
	if taken, err = read(1 << 40); err == nil || !strings.Contains(err.Error(), "bytes of elements") || taken > 1<<21 {
		t.Errorf("%v, and %d bytes", err, taken)
	}
	file = packed(t, "{'descr': '<U1', 'fortran_order': False, 'shape': (1000000,), }", 4000000)
	if _, err = read(8 << 20); !errors.Is(err, limit.ErrExceeded) {
		t.Errorf("strings that take more than their file: %v", err)
	}
}
