// Package encode has the encoders: what makes tasks of layers, in the words of one version of task descriptors.
//
//	layer ─ Takes? ─ Layout ─ Choose ─ Fits? ─ (addresses) ─ Encode ─ words
//
// A target lists its encoders. The native one comes first, where its registers are known; last comes the encoder of version
// 256, which takes every layer that becomes a task at all. The compiler asks them in this order, layer by layer, through the
// interface alone: what a version of tasks is like is known in the folder of its encoder, and nowhere above.
//
//	v7         the words of H13's tasks; an operation of version 256 travels among them as an extension record
//	v256       our own: one operation on strided operands for each layer
//	selection  which operations of the array and planar engines a layer becomes: for any chip that has them, whatever its words
package encode
