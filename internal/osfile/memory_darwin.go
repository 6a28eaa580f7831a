//go:build darwin

package osfile

import "golang.org/x/sys/unix"

// Memory is the size of the machine's memory in bytes; 0 if it cannot be had.
func Memory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
