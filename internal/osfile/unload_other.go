//go:build !unix

package osfile

func unload([]byte, int) {}
