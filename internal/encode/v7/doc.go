// Package v7 is the encoder of version 7, native to H13: it puts the operations that package selection finds into
// words, register by register, as Apple's compiler does (h13 2). An operation of version 256 travels in such a program as an
// extension record: a header of version 7, then registers from td.ExtensionBase on that no chip has.
package v7
