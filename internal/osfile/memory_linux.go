//go:build linux

package osfile

import "golang.org/x/sys/unix"

// Memory is the size of the machine's memory in bytes; 0 if it cannot be had.
func Memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
