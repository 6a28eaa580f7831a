// Package encode has the encoders: what makes tasks of layers, in the words of one version of task descriptors.
//
//	value ─ Layout ─┐
//	layer ──────────┴─ Choose ─ Fits? ─ (addresses) ─ Encode ─ words
//
// A target lists its encoders: the native one, where its registers are known, and last the encoder of version 256, which takes
// every layer that becomes a task at all. There is no third. All values lie as the first of them wants it; the tasks of a layer
// are asked of the native one, and where it declines of the other. Takes is no step on this way: it is asked before, where the
// compiler would do something for the native encoder's sake that is for nothing if it does not know the kind. All this goes
// through the interface alone: what a version of tasks is like is known in the folder of its encoder, and nowhere above.
//
//	v7         the words of H13's tasks; an operation of version 256 travels among them as an extension record
//	v256       our own: one operation on strided operands for each layer
//	selection  which operations of the array and planar engines a layer becomes: for any chip that has them, whatever its words
package encode
