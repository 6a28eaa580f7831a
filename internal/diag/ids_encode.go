package diag

// Layers that run on the engine, but are not native-encoded: a rule of the
// encoder says what stands in the way.
var (
	NativeKind = encode("native-kind", Decoded, "No operation of the chip is known for the layer's kind",
		"No recorded program has a task that computes such a layer, and no composition of tasks is known that does.",
		"write the operation as others: sums, products, convolutions, reductions, functions with a table")
	NativeType = encode("native-type", Decoded, "A value has a type that the tasks do not read or write",
		"Tasks compute in fp16. Bools are bytes in memory that comparisons, selections and casts read and write; no recorded program has another type.",
		"cast to fp16 before, and from it after")
	NativeDepth = encode("native-depth", Decoded, "A value has depth where the tasks have none",
		"The registers have a depth, and no recorded program uses it but for one layer normalization. Layers that work on each element take depth as another batch.",
		"reshape such that depth is part of the batch or of the channels")
	NativeState = encode("native-state", Decoded, "A task would read or write a state",
		"The M1 has no task that changes a held tensor in place, and its compiler refuses the operations for it. A state is one buffer there, bound as source and as destination, and tasks of ours name it. Strictly it is refused.",
		"give the state as an input and an output, and bind one buffer to both: the run copies nothing of it")
	NativeLayout = encode("native-layout", Decoded, "A value lies such that registers cannot say where",
		"Rows, planes and groups begin on multiples of 64 bytes, elements of a row lie side by side, and a surface ends below 2 GiB. Views that break this are copied first where a task can; here none could.",
		"avoid slices, transposes and concatenations along the width right before or after the operation")
	NativeOperand = encode("native-operand", Decoded, "The operands do not go together in a task",
		"An operand is live where tasks want a constant, or does not broadcast as the planar engine repeats sources, or everything is constant.",
		"make the operand the finding names a constant, or broadcast it before")
	NativeConstant = encode("native-constant", Decoded, "A constant is not such as kernels and registers hold",
		"Weights are packed in fp16: decoded from compressed ones where they are known, without a loss. Numbers for each channel are one for each, no more.",
		"store the constant in fp16, in the shape that the finding names")
	NativeFunction = encode("native-function", Decoded, "No table is known for the function",
		"The array computes functions by tables of 33 knots. Those in recorded programs are known, and some that follow from them; a table for other functions or other arguments would be a guess.",
		"write the function with others that have a table: sigmoid, tanh, exp2, log2, sqrt, relu and what is made of them")
	NativeEpilogue = encode("native-epilogue", Decoded, "What follows the layer goes into no task of it",
		"Tasks scale, add and apply a function as they write. What the layer does besides with its result has no place in them, and no task of its own is known that follows.",
		"break the chain: keep the intermediate result as an output, or change the order of the operations after it")
	NativeWindow = encode("native-window", Decoded, "The window is none that the engine has",
		"The array has windows of up to 7 columns and 15 rows, strides of 1 and 2 that are the same along both axes, and zeros about the image. Pooling has its own, made of sums and maxima.",
		"a smaller kernel, the same stride along both axes, padding with zeros")
	NativeAxes = encode("native-axes", Decoded, "The axes are none that tasks go along together",
		"A reduction, a softmax or a normalization reads axes as rows, channels and groups of a task. These axes, or as the values lie, do not come to that.",
		"reshape or transpose such that the axes are one, or are the last")
	NativeSize = encode("native-size", Decoded, "An extent, or the memory it takes, is beyond what tasks have",
		"Registers bound width and height by 16384, channels by 65536, groups by 8191, and a batch of convolutions becomes up to 256 tasks. Memory between tasks, and constants that are laid out for them, have a bound of ours.",
		"smaller extents, or a batch in parts")
	NativeRoom = encode("native-room", Decoded, "What lies between the tasks does not fit on chip",
		"Some tasks read what others left in the memory on chip, which takes as much as the finding names. Even one row or channel at a time is more.",
		"smaller extents along the axes that are reduced or normalized")
	NativeTasks = encode("native-tasks", Predicted, "The layer would become too many tasks",
		"What no single task moves or multiplies goes in parts. Beyond a bound of ours one task of another encoding is the better program.",
		"fewer pieces: concatenate, pad or gather whole rows; a smaller batch of matrices")
	NativeNumerics = encode("native-numerics", Decoded, "The tasks would compute other numbers than are asked for",
		"A table is an approximation, constants are rounded to fp16, and a slice along the width multiplies and divides: where the profile of numerics or the layer asks for other numbers, such tasks do not stand for it.",
		"choose the chip's numerics, or arguments that fp16 holds")
	NativeRecord = encode("native-record", Predicted, "No recorded program shows how the registers say it",
		"The registers may have it. But two readings of them are possible, and none of the programs that Apple's compiler wrote decides.",
		"change what the finding names, such as the order of a scale and a bias")
	NativeWords = encode("native-words", Decoded, "A register has too few bits for the value",
		"The tasks are known, and a field of one does not hold what it would have to. The finding names the field.",
		"smaller extents along the axis that the field counts; fewer inputs and outputs where it is a base")
	NativeOverlap = encode("native-overlap", Decoded, "A task would write over what a later one reads",
		"The result lies in the same memory as what is read, and not element over element, or the tasks read it more than once.",
		"another order of the operations, for which memory is planned otherwise")
)
