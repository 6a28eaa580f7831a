package osfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestMap(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 7)
		}
		path := filepath.Join(t.TempDir(), "data.bin")
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := Map(path)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !bytes.Equal(m.Bytes(), want) {
			t.Errorf("%d bytes: the mapping differs from the file", size)
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Errorf("%d bytes: Close: %v", size, err)
			}
		}
		if m.Bytes() != nil {
			t.Errorf("%d bytes: Bytes after Close is not nil", size)
		}
	}
}

// A mapping holds the whole file, whatever was read before, and outlives it.
func TestMapFileOutlivesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.bin")
	if err := os.WriteFile(path, []byte("hello, world"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(7, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	m, err := MapFile(f)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := string(m.Bytes()); got != "hello, world" {
		t.Errorf("got %q", got)
	}
}

func TestMapRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Map(dir); !errors.Is(err, ErrNotRegular) {
		t.Errorf("folder: got %v, want ErrNotRegular", err)
	}
	if _, err := Map(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v, want fs.ErrNotExist", err)
	}
}
