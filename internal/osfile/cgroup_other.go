//go:build !linux

package osfile

func containerMemory() int64 { return 0 }
