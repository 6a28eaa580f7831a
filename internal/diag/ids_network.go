package diag

// Networks and modules as a whole. A model that Apple's tools made meets few of
// these: they are for network descriptions that people write.
var (
	SchemaNewer = network("schema-newer", "The description is of a later schema",
		"A network description or module names the version of its schema. The compiler refuses those that came after its own.",
		"write the description in the current schema")
	BondedNetwork = network("bonded-network", "The network asks for several engines",
		"A network can be bonded over several engines where the target has collectives. None of the known targets has them.",
		"compile for one engine")
	UnitCollision = network("unit-collision", "Two units have one name",
		"Units are found by their names, and the compiler stops at the second one.",
		"rename one of them")
	ConversionRecord = network("conversion-record", "Nothing says what a layer or operation was converted from or to",
		"A converted network names for every layer the operations that it stands for, and a module has a conversion for each of its operations. Here one is missing.",
		"name the operations that the layer stands for, or write the operation as others that are converted")
	ModuleFamily = network("module-family", "The chip is older than the conversion route",
		"The compiler converts MIL for chips from the M1 on. Older ones take network descriptions alone.",
		AuthorDirectly+", or choose a later target")
	ModuleDynamic = network("module-dynamic", "A shape is not known",
		"Programs of the engine have fixed shapes. The compiler refuses a module in which an extent is open.",
		"compile for given extents")
	ModuleRank = network("module-rank", "A tensor has too many axes",
		"Tensors of the engine have five axes: N, D, C, H and W. The compiler refuses a module with more.",
		"reshape to five axes or fewer")

	MutableWeight = network("mutable-weight", "A procedure edits what is no constant",
		"A mutable procedure gives constants of a compiled network other bytes. The name that it gives is none of a constant.",
		"edit constants of the network, by their names")
	MutableTwice = network("mutable-twice", "A procedure edits a weight twice",
		"A mutable procedure has one edit for a weight, which replaces it whole.",
		"edit each constant once and whole")
	MutableSize = network("mutable-size", "A procedure edits a weight with another number of bytes",
		"The bytes take the place of those in the program, so there must be as many.",
		"give as many bytes as the constant has stored")
	MutablePalette = network("mutable-palette", "A procedure edits a weight with a palette of vectors",
		"A kernel whose table has vectors cannot be edited after it was compiled.",
		"store the weight with a palette of single elements, or plainly")
	MutableQuantized = network("mutable-quantized", "A procedure edits a quantized weight",
		"A kernel with a scale cannot be edited after it was compiled.",
		"store the weight plainly or with a palette")
)
