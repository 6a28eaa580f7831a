package diag

// Where an operation runs: the gates before and beside those of layers.
var (
	NoConversion = place("no-conversion", Decoded, "The converter does not know the operation",
		"Apple's converter has no rule for the operation, so no chip's engine gets to see it. The host runs it.",
		"write the operation as others that the converter knows")
	NoEngineOperation = place("no-engine-operation", Decoded, "The operation is on no chip's engine",
		"The converter leaves the operation to the host whatever the chip. Its shapes depend on data, or nothing in the engine computes it.",
		"write the operation as others that the engine has; the finding says which")
	NoCodeGeneration = place("no-code-generation", Decoded, "No code is generated for the operation by itself",
		"The compiler knows the operation and uses it inside of others. By itself nothing comes of it.",
		"write what the finding names")
	NoLayer = place("no-layer", Predicted, "The operation has no native form",
		"The operation, as it stands here, cannot be written as native layers: its shape, type or arguments are in the way. The finding says which.",
		"change what the finding names, or write the operation as others")
	NoTask = place("no-task", Predicted, "No task comes of the operation",
		"The operation has native layers, and a later phase of the compiler did not take them. The finding says which rule that was.",
		"change what the finding names; where nothing is to be changed, the host runs the operation")
	LayerRefused = place("layer-refused", Predicted, "No target runs a layer of the kind",
		"No source says what the layer computes, or no engine takes it. The finding says which; docs/layers.md has the list.",
		"write what is meant with other layers")
	TypeNotOnEngine = place("type-not-on-engine", Decoded, "The engine does not compute with the type",
		"The datapath of the engine is fp16. The frontend accepts wider floats and leaves the operation to the host.",
		"convert the model with a compute precision of FLOAT16, or cast before the operation")
	MinimumFamily = place("minimum-family", Decoded, "The operation is native on later chips",
		"The conversion route has a first generation for the operation, and this chip is older. The layers themselves may pass their validators.",
		"choose later chips, or write the operation as others")

	ViewOnHost = place("view-on-host", Predicted, "The operation only moves what the host makes or reads",
		"A view costs the engine nothing inside of a segment. A segment of its own would be a dispatch and two crossings, so the view follows what runs on the host beside it.",
		"")
	DisputedUnit = note("disputed-unit", Decoded, "Sources disagree on whether the chip takes the unit",
		"The unit of a network description passes its gates, and a source says that the chip rejects it.",
		"")
	OurUnit = note("our-unit", Decoded, "The unit is ours",
		"Apple's compiler does the work inside of other units, and no network description of its own has a unit for it. Ours takes it.",
		"")
	AuthoredTakes = note("authored-takes", Decoded, "Authored, the engine would take the operation",
		"The conversion route leaves the operation to the host. The layers that it becomes pass the gates of the authored route, as units of a network description.",
		AuthorDirectly)
	AuthoredRefuses = note("authored-refuses", Decoded, "Authored, the engine would refuse the operation too",
		"The conversion route leaves the operation to the host, and the layers that it becomes do not pass the gates of the authored route either, or there are none. The text says what is missing.",
		"")
	AuthoredLoses = note("authored-loses", Decoded, "Authored, the engine would refuse the operation",
		"The engine runs the converted operation. The layers that it becomes do not pass the gates of the authored route, as units of a network description.",
		"leave it to the conversion route")
	StandIn = note("stand-in", Decoded, "Something else stands in for the operation",
		"The chip lacks what the operation needs, and its compiler writes it with other layers. It runs on the engine, perhaps slower or with other rounding.",
		"")
	Folded = note("folded", Decoded, "The operation is known when the program is compiled",
		"What it computes follows from constants and shapes. It becomes part of the program, and no code is generated for it.",
		"")
	FlexibleShapes = note("flexible-shapes", Decoded, "Inputs have no fixed shapes",
		"Programs of the engine have fixed shapes. Some are compiled ahead and the nearest is taken; the host runs what is left. A report is for one shape.",
		"enumerate the shapes that are used, or pad to one")
)
