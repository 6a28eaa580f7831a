// Package anec is the native layer graph: the engine's own layer kinds, on
// tensors of five axes N, D, C, H, W, free of any file format and of any target.
// Models are lowered to it, netplists are read into it, and the compiler's
// phases work on it until tasks come out.
//
//	Graph    inputs, outputs, states, values, layers
//	Value    a tensor: its type; a constant, an input, or the top of one layer
//	Layer    one kind with its fields (Params), what it reads (bottoms), what it
//	         makes (tops), and the epilogue that fusion has hung on it
//
// kinds.go lists the kinds. What a kind is stands in one place: its fields with
// Apple's netplist keys, its row (KindInfo) with all that is asked of the kind as
// such, its shape rule. The limits of a chip are no part of a shape rule: gates
// and reject strings for a target are the row's check, in a file <kind>_validate.go
// where they are long.
//
// Names: a bottom is what a layer reads and a top what it makes, as in netplists.
// Positions along W are neighbours in memory, unless a type is interleaved; the
// matrices of a product have rows along H and columns along W, as in package td.
package anec
