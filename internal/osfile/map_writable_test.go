package osfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What is written to the mapping is in the file, which is made as long as asked for and never shorter.
func TestMapWritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for i, want := range []string{"ab\x00\x00", "abcd", "abcd"} {
		m, err := MapWritable(path, 4-2*(i/2)) // the last time, less than there is
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Bytes()) != 4 {
			t.Fatalf("%d bytes", len(m.Bytes()))
		}
		copy(m.Bytes()[2*(i%2):], []string{"ab", "cd", "ab"}[i])
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("the file has %q (%v), want %q", got, err, want)
		}
	}
	if _, err := MapWritable(t.TempDir(), 4); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a folder: %v", err)
	}
}
