package diag

// Network descriptions as property lists: what stands in them beside what a layer is.
var (
	NetplistKey = listing("netplist-key", Note, "A key that nothing reads",
		"A network description has a key that no source names. It is kept when the list is written, and has no effect.",
		"look for a misspelled key; each kind of layer lists its own")
	NetplistOurs = listing("netplist-ours", Note, "A key or type that Apple's compiler does not know",
		"The list says something for which Apple has no word, or none that is known. It begins with Espalier, and other readers pass it over or refuse it.",
		"write the layer with keys of Apple's alone, if the list is for another compiler")
	NetplistChannels = listing("netplist-channels", Note, "A unit says another number of channels than it has",
		"OutputChannels is read where it gives a convolution its size. Elsewhere the shape follows from the operands, and the number is not used.",
		"give the number that the operands make, or leave it out")
	PortStrides = listing("port-strides", Refusal, "A port asks for another layout than the target has",
		"A network description can say how far apart rows, planes and batch elements of a port lie. Each target here has one layout for a port: rows padded to its alignment, without gaps above.",
		"leave the strides out, and the target chooses them")
	PortInterleave = listing("port-interleave", Refusal, "A port asks for interleaved channels",
		"A network description can lay 2, 3, 4 or 8 channels of a port side by side. Ports here have one channel after the other.",
		"set the port's InputInterleave or OutputInterleave to 1")
	PortOrder = listing("port-order", Note, "The batch of a port lies inside of its depth",
		"Apple's lists lay the elements of a batch inside of the depth. Containers here have the depth inside of the batch: the same elements in another order, of which the port tells.",
		"ask the port for its layout, or give it a batch or a depth of one")
	NetplistSubtractMax = hazard("netplist-subtract-max", Hazard, WrongNumbers, Decoded, "Attention does not subtract the largest score",
		"SubtractMax is false unless a unit says otherwise. The exponential of a score above 11 is beyond fp16, and the result is infinite or not a number.",
		"set SubtractMax to true")
)
