//go:build amd64

package gemm

var machineRows = []*Row{&avx2, &avx512, &amx}
