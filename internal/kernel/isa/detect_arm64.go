//go:build arm64

package isa

// detect: every arm64 processor has NEON.
func detect() Set { return NEON }

func hasFP16() bool { return false }
