//go:build unix

package osfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mapBytes maps a new file of n bytes, which was written an hour ago: clocks of file systems are coarse.
func mapBytes(t *testing.T, n int) (*Mapping, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.bin")
	if err := os.WriteFile(path, make([]byte, n), 0o666); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, before, before); err != nil {
		t.Fatal(err)
	}
	m, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, path
}

func sum(data []byte) (n int, err error) {
	defer Protect().Catch(&err)
	for _, b := range data {
		n += int(b)
	}
	return n, nil
}

func TestFaultIsAnError(t *testing.T) {
	m, path := mapBytes(t, 1<<20)
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	_, err := sum(m.Bytes())
	var file *FileError
	if !errors.As(err, &file) || file.Path != path || !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "1048576 bytes, and has 4096") {
		t.Fatalf("got %v", err)
	}
	// What is left of the file, and other memory, is read as before.
	if _, err := sum(m.Bytes()[:4096]); err != nil {
		t.Error(err)
	}
}

// Other panics, and faults that no file is to blame for, go on.
func TestCatchLeavesPanics(t *testing.T) {
	var none *Mapping
	for name, f := range map[string]func(){
		"a value":  func() { panic("boom") },
		"an error": func() { panic(errors.New("boom")) },
		"nil":      func() { none.Close() },
		"a fault elsewhere": func() {
			m, _ := mapBytes(t, 4096)
			data := m.Bytes()
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(new(strings.Builder), data[0])
		},
	} {
		func() {
			var err error
			defer func() {
				if recover() == nil || err != nil {
					t.Errorf("%s: no panic, and error %v", name, err)
				}
			}()
			defer Protect().Catch(&err)
			f()
		}()
	}
}

func TestChanged(t *testing.T) {
	rewrite := func(path string) error { return os.WriteFile(path, []byte("other"), 0o666) }
	for _, c := range []struct {
		name    string
		do      func(path string) error
		changed bool
	}{
		{"nothing", func(string) error { return nil }, false},
		{"read", func(path string) error { _, err := os.ReadFile(path); return err }, false},
		{"permissions", func(path string) error { return os.Chmod(path, 0o444) }, false},
		{"renamed", func(path string) error { return os.Rename(path, path+".old") }, false},
		{"removed", os.Remove, false},
		{"replaced", func(path string) error {
			return errors.Join(rewrite(path+".new"), os.Rename(path+".new", path))
		}, false},
		{"truncated", func(path string) error { return os.Truncate(path, 1) }, true},
		{"overwritten", rewrite, true},
		{"overwritten by as many bytes", func(path string) error { return os.WriteFile(path, []byte("12345678"), 0o666) }, true},
		{"changed after it was renamed", func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Truncate(path+".old", 1))
		}, true},
	} {
		m, path := mapBytes(t, 8)
		if err := c.do(path); err != nil {
			t.Fatal(err)
		}
		if err := m.Changed(); errors.Is(err, ErrChanged) != c.changed || err != nil && !c.changed {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	m, _ := mapBytes(t, 8)
	if n := testing.AllocsPerRun(10, func() { m.Changed() }); n != 0 {
		t.Errorf("Changed allocates %v times", n)
	}
}

// A copy does not mind, and is no mapping.
func TestCopy(t *testing.T) {
	_, path := mapBytes(t, 1<<16)
	mappings := Mapped()
	m, err := Copy(path)
	if err != nil {
		t.Fatal(err)
	}
	if Mapped() != mappings {
		t.Error("it is mapped")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if n, err := sum(m.Bytes()); err != nil || n != 0 || len(m.Bytes()) != 1<<16 || m.Changed() != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestMappedCounts(t *testing.T) {
	before := Mapped()
	m, _ := mapBytes(t, 8)
	if n := Mapped(); n != before+1 {
		t.Errorf("%d mappings, after %d", n, before)
	}
	m.Close()
	if n := Mapped(); n != before {
		t.Errorf("%d mappings, after %d", n, before)
	}
}

func BenchmarkChanged(b *testing.B) {
	path := filepath.Join(b.TempDir(), "data.bin")
	if err := os.WriteFile(path, make([]byte, 8), 0o666); err != nil {
		b.Fatal(err)
	}
	m, err := Map(path)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for b.Loop() {
		if err := m.Changed(); err != nil {
			b.Fatal(err)
		}
	}
}
