//go:build !unix && !windows

package osfile

import (
	"io"
	"os"
)

// mapped is the content of a file, read into memory, on systems without mappings.
type mapped struct{ data []byte }

func mapFile(f *os.File, size int) (*mapped, error) {
	m := &mapped{make([]byte, size)}
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), m.data)
	return m, err
}

// stamp does not change: the content is a copy.
func (m *mapped) stamp() (stamp, error) { return stamp{size: int64(len(m.data))}, nil }

func (m *mapped) release() error { return nil }
