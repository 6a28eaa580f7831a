//go:build !amd64 && !arm64

package pool

func pause() {}
