//go:build unix

package osfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// unload gives back whole pages of a mapping.
func unload(b []byte, skip int) {
	size := os.Getpagesize()
	b = b[min((size-skip%size)%size, len(b)):]
	if n := len(b) / size * size; n > 0 {
		_ = unix.Madvise(b[:n], unix.MADV_DONTNEED) // advice, no more
	}
}
