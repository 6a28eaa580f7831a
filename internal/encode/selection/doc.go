// Package selection selects the operations of the array and of the planar engine (package units) that a layer becomes. What it
// knows of a chip are its sizes and the number of its engines; how an operation is put into words is the encoder's business.
//
//	selection, select, build, sublayers   what an encoder asks; which family a layer is of; tasks in the making
//	reason                                why a layer has none
//	memory, layout, constants             where their operands lie: temporaries, values, packed constants
//	array, planar, pointwise, compare,
//	chain, stages, function, tables,
//	after                                 elementwise layers, functions, epilogues
//	reduce*, softmax, norm*, pool, taps   what goes over axes and windows
//	conv, kernel, weights, liveconv       the array with weights
//	product*, runtime, attention          matrix products and chains of them
//	move, through, view, compose          copies between any strides, and what is made of them
//
// Everything follows what Apple's compiler was seen to emit for H13: facts are cited as in "h13 4.3", a section of the fact sheet
// that was checked on real programs, "oracles 3", a section of the sheet about recorded compiler output, and by the names of
// recorded programs. What no source shows is not selected: the layer is declined, and a *diag.Reason says what stands in the way.
package selection
