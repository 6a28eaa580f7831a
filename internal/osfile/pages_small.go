//go:build unix && !linux

package osfile

// preferLarge: the system decides by itself.
func preferLarge([]byte) {}
