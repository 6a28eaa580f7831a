//go:build !amd64 && !arm64

package isa

func detect() Set { return 0 }

func hasFP16() bool { return false }
