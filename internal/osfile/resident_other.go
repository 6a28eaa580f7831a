//go:build !linux

package osfile

// Resident is how much of this process is in memory, and how much of that is its own and not a file's, in bytes; 0 if the system
// does not say.
func Resident() (all, anonymous int64) { return 0, 0 }
