// Package tensor holds arrays: element types, shapes, strided views over bytes, and NumPy's files.
//
// It knows nothing of programs or operations. The element types are those of MIL, the sub-byte ones
// included; a sub-byte element i occupies bits [i·n, (i+1)·n) of a little-endian bit stream.
package tensor
