package gemm

var machineRows = []*Row{&neon}
