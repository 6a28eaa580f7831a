// Package units has the operations of a chip's two computing engines, the multiply array and the planar engine, before they
// have words:
//
//	source 1 ─┐                                         ┌─ on-chip memory
//	          ├─ array or planar engine ─ f ─ exchange ─┤
//	source 2 ─┘                                         └─ memory
//
// An Op is one task as plain data: sizes, where its tensors lie in memory and on chip, what it computes. Sizes and places
// are as the registers of H13 have them (h13 2), which is the form that all chips with these engines share as far as is
// known: a surface in memory has strides for rows, planes and groups; a tensor on chip lies row by row, in a row channel by
// channel. A Machine says how many engines there are and how memory is cut.
//
// Who makes an Op of a layer is package selection, who makes words of it is an encoder, and who reads one from words is a
// decoder of the engine. None of them is known here.
package units
