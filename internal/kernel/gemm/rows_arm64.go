//go:build arm64

package gemm

var machineRows = []*Row{&neon}
