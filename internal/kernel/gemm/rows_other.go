//go:build !amd64 && !arm64

package gemm

var machineRows []*Row
