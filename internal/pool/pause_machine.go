//go:build amd64 || arm64

package pool

// pause tells the processor that a loop waits, which leaves more to a thread that
// shares its core.
func pause()
