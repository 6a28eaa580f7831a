//go:build unix

package osfile

import "golang.org/x/sys/unix"

func mapPages(n int) (data []byte, ok bool) {
	data, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, false
	}
	preferLarge(data)
	return data, true
}

func unmapPages(data []byte) { _ = unix.Munmap(data) } // it is ours, so there is nothing to fail
