//go:build !linux && !darwin

package osfile

func processMemory() int64 { return 0 }
