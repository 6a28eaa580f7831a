//go:build !unix && !windows

package osfile

import (
	"errors"
	"io"
	"os"
)

// mapped is the content of a file, read into memory, on systems without mappings. What was to be written is written
// when it is released.
type mapped struct {
	data []byte
	path string // of a file that is written to; "" of others
}

func mapFile(f *os.File, size int, write bool) (*mapped, error) {
	m := &mapped{data: make([]byte, size)}
	if write {
		m.path = f.Name()
	}
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), m.data)
	return m, err
}

// stamp does not change: the content is a copy.
func (m *mapped) stamp() (stamp, error) { return stamp{size: int64(len(m.data))}, nil }

func (m *mapped) release() error {
	if m.path == "" {
		return nil
	}
	f, err := os.OpenFile(m.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(m.data, 0)
	return errors.Join(err, f.Close())
}
