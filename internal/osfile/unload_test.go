package osfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is unloaded is there again when it is read, and memory that is not mapped
// stays.
func TestUnload(t *testing.T) {
	content := bytes.Repeat([]byte("espalier"), 1<<15)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, part := range [][]byte{m.Bytes(), m.Bytes()[5:], m.Bytes()[:7], m.Bytes()[4096:9000], nil} {
		Unload(part)
	}
	if !bytes.Equal(m.Bytes(), content) {
		t.Error("the content of a mapping is lost")
	}
	own := bytes.Clone(content)
	if Unload(own); !bytes.Equal(own, content) {
		t.Error("memory that is not mapped is lost")
	}
}
