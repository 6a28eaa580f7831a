//go:build !unix && !windows

package osfile

import (
	"io"
	"os"
)

// mapFile reads the file into memory, on systems without mappings.
func mapFile(f *os.File, size int) (*Mapping, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data); err != nil {
		return nil, err
	}
	return &Mapping{data: data}, nil
}
