//go:build !linux && !darwin

package osfile

// Memory is the size of the machine's memory in bytes; 0 if it cannot be had.
func Memory() int64 { return 0 }
