// Package kernel has the inner loops of the virtual engine.
//
// A kernel takes its operands, the range [lo, hi) of a tile, and scratch. It
// reads and writes nothing else, never allocates and never starts a goroutine:
// how a tensor is cut into tiles, and who works on them, is the caller's. Tiles
// that do not meet may run at the same time, and cutting a loop in another way
// never changes a bit of the result.
//
// Memory and arithmetic are apart. Gather and Copy read elements from memory in
// any layout that a View describes; what computes works on dense float32 in the
// order of a View's axes; Scatter rounds and writes back. So a layout, a
// transpose or a broadcast is a matter of strides, and no arithmetic kernel
// knows of it.
//
// Rows lists the kernels. Each has a portable form in Go; forms for an
// instruction set stand in files of their own and are held to the portable one
// by the test that ranges over the rows.
package kernel

import "slices"

// A Row describes a kernel.
type Row struct {
	Name string
	// Exact says that every form gives the bits of the portable one. Otherwise
	// a form may add in another order, within 2^-16 of the sum of the products'
	// magnitudes.
	Exact bool
	Doc   string
}

// Rows lists the kernels, family by family.
func Rows() []Row {
	return slices.Concat(copyRows, convRows, planarRows, reduceRows, tableRows)
}
