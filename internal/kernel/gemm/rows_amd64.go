//go:build amd64

package gemm

var machineRows = []*Row{&avx512, &amx}
