//go:build unix

package osfile

import (
	"os"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int) (*Mapping, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Mapping{data: data, unmap: unix.Munmap}, nil
}
