//go:build !amd64 && !arm64

package isa

func detect() Set { return 0 }
