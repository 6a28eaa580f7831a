package hal

import "slices"

// A Conflict is a matter on which sources disagree.
type Conflict struct {
	Matter  string
	One     string // what is said, and where
	Other   string
	Choice  string // what Espalier goes by, and why
	Targets []string
}

// Conflicts returns the table. Rows come from several packages' work: add yours.
func Conflicts() []Conflict { return conflicts }

var conflicts = []Conflict{
	{
		Matter:  "the targets of phone chips",
		One:     "H13 is the A13, H14 the A14 … H17 the A17, H18 the A18 (guide 12 and 34)",
		Other:   "H13 is the A14, H14 the A15, H15 the A16, H16 the A17 Pro, H17 the A18, H18 the A19 (coreml_to_ane_hwx; mil-hwx-compiler for H13 and H14; guide 35 for H18), and phones told h16p for A17 Pro, h17p for A18 Pro, h18p for A19 Pro, h19p for A20 Pro (coreai H)",
		Choice:  "what phones told; the other phone chips, A12 to A16 and A18, are taken by the same numbering, and both readings are said. family:A14 is the compiler's family in any case",
		Targets: []string{"h11", "h12", "h13", "h14", "h15", "h16", "h17", "h18", "h11p", "h12p", "h13p", "h14p", "h15p", "h16p", "h17p", "h18p"},
	},
	{
		Matter:  "the target of the A11",
		One:     "H11, whose family is A11Legacy (guide 35)",
		Other:   "none: H11 is the A12 (coreml_to_ane_hwx)",
		Choice:  "h11, the nearest that there is, and both readings are said",
		Targets: []string{"h11"},
	},
	{
		Matter:  "bare names",
		One:     "h13 … h18 are targets of the compiler (guide 34, 28 constructors), and older programs of the M1 say h13 (h13 1.1)",
		Other:   "coreai-build takes names with a suffix, and refuses h16 (coreai H)",
		Choice:  "a bare name is ours, for a generation: it stands for the base chip, with its limits, encoders, numerics and anchors",
		Targets: []string{"h11", "h12", "h13", "h14", "h15", "h16", "h17", "h18"},
	},
	{
		Matter:  "which target the M1 is",
		One:     "H13 (guide 34, silicon to target; coreml_to_ane_hwx; older programs: h13 1.1)",
		Other:   "H13g (an iPad Pro by coreai H; the banner of an M1's program in the seed program-format)",
		Choice:  "h13g: it was told. What was measured on the M1 stands there, and at h13, which stands for it",
		Targets: []string{"h13", "h13g"},
	},
	{
		Matter:  "which targets M2, M3 and M4 are",
		One:     "H14, H15, H16 (guide 34, silicon to target; coreml_to_ane_hwx)",
		Other:   "h16g is what an M4 loads, of all names (coreai H); h14g and h15g follow by the pattern",
		Choice:  "h14g, h15g, h16g; the bare names are of the generations",
		Targets: []string{"h14", "h14g", "h15", "h15g", "h16", "h16g"},
	},
	{
		Matter:  "which targets Pro, Max and Ultra are, M1 to M4",
		One:     "g for all of them: H13g … H16g (guide 34, by a private selector that has g for every Mac: coreai H)",
		Other:   "s, c and d: h13c on an M1 Max, h15d on an M3 Ultra, h16c on an M4 Max were told (coreai H), the others follow by the pattern",
		Choice:  "what was told; the others by the pattern, and both readings are said. What was measured on an M2 Pro stands at h14s",
		Targets: []string{"h13g", "h13s", "h13c", "h13d", "h14g", "h14s", "h14c", "h14d", "h15g", "h15s", "h15c", "h15d", "h16g", "h16s", "h16c"},
	},
	{
		Matter:  "the family of H16, H17 and H18",
		One:     "H16 is A16, H17 is A17, H18 is A18 (guide 24 and 34, tiers)",
		Other:   "hardware version 8 is H16 and compiles as A15, 7 is H17 and compiles as A16, 9 is H17s and 10 is H18, both A17 (guide 35, family map, with some inference as it says)",
		Choice:  "the tiers: programs for H16 carry subtype 7 and those for H17 9 (guide 35, cross-compiled programs), which the same map calls A16 and A17. No verdict depends on it, since no floor is above A15",
		Targets: []string{"h16", "h16g", "h16s", "h16c", "h17", "h17a", "h17g", "h17c", "h17d", "h18"},
	},
	{
		Matter:  "which target the M5 is",
		One:     "H17 (guide 34, silicon to target and full set; coreml_to_ane_hwx)",
		Other:   "H17s (guide 12, 18 and 24; guide F calls the machine an M5 Pro)",
		Choice:  "h17g, which M5 machines told (coreai H); H17 is the generation, and what the guide measured was an M5 Pro, h17s",
		Targets: []string{"h17", "h17g", "h17s"},
	},
	{
		Matter:  "which target M5 Pro and Max are",
		One:     "H17s (guide 34, silicon to target)",
		Other:   "H17g (guide 34, full set)",
		Choice:  "m5pro is h17s and m5max is h17c: both were told (coreai H)",
		Targets: []string{"h17s", "h17g", "h17c"},
	},
	{
		Matter:  "cores",
		One:     "the compiler's num_nes: 4 on the M1 (guide 34)",
		Other:   "16 on the M1, as Apple advertises and the registry says, and 16 kernel streams in every task (h13 3.3)",
		Choice:  "Cores is the compiler's number, for cost; Sizes.Engines is the one of the task format",
		Targets: []string{"h13"},
	},
	{
		Matter:  "the compiler's cores of the M1",
		One:     "4, those of H13 (guide 34; guide 18 scales by them)",
		Other:   "8, those of H13g in the same table, which the M1 is; an M4, h16g, has 8 too (silicon-ledger)",
		Choice:  "8 for the M1; the row of H13 keeps the 4 that were read for it, and no estimate goes by them",
		Targets: []string{"h13", "h13g"},
	},
	{
		Matter: "the widest kernel in fp16",
		One:    "13 up to A13, 16 from A14 on (guide A; guide 4, shape limits)",
		Other:  "13 below A16, 15 from A16 on (guide 12, what each generation adds)",
		Choice: "guide A, which was read from the compiler target by target; 15 is the small profile's",
	},
	{
		Matter:  "the widest kernel that the M1 takes at the frontend",
		One:     "29 for large kernels, 13 in fp16 (guide A)",
		Other:   "15: the frontend rejects a width of 16 (guide 4, compile-legal envelope)",
		Choice:  "guide A: validators follow the compiler, and that check stands before it",
		Targets: []string{"h13"},
	},
	{
		Matter:  "the highest kernel on the M1",
		One:     "29 (guide A)",
		Other:   "unconstrained (guide 4, compile-legal envelope, tried up to 16)",
		Choice:  "guide A: 16 is within it",
		Targets: []string{"h13"},
	},
	{
		Matter:  "extents of tensors along C on the M1",
		One:     "65536 (guide A)",
		Other:   "16384 on each axis; only the channels of a convolution may exceed it (guide 4, compile-legal envelope)",
		Choice:  "guide A for native layers, where the channel axis is C; the envelope's axes are those of arrays, which we take to lie along H and W for matrix multiply and elementwise work",
		Targets: []string{"h13"},
	},
	{
		Matter: "resize on the M1",
		One:    "floor A13: native (guide 35, floors)",
		Other:  "a software route before A14 (guide A, image operations; byte 0x81d)",
		Choice: "guide A for the conversion route: the operation is legal and the texture engine is not there",
	},
	{
		Matter: "resize as a unit on the M1",
		One:    "without the texture engine the compiler writes it with other layers (guide 35, DecomposeResize; guide B, gates)",
		Other:  "rejected, as all samplers (guide 26 and B, arch-gated negatives)",
		Choice: "the first, which was read from the compiler: a resize needs no sampler",
	},
	{
		Matter: "range normalization on the M1",
		One:    "runs along width and height; along channels it is rejected (guide B)",
		Other:  "rejected (guide 26, arch-gated negatives)",
		Choice: "guide B, which has the measured gate: byte 0x818 is taken as set from A13 on",
	},
	{
		Matter: "argmin and argmax over a whole tensor on the M1",
		One:    "byte 0x4f2 is set: runs by direct authoring (guide 4 and 24)",
		Other:  "gated to A15 and rejected on the M1, by direct authoring too (guide 26, arch-gated negatives, 35 and B, catalog)",
		Choice: "the byte for direct authoring, the floor A15 for conversion: guide 4 and guide 26's own section on the two routes say so",
	},
	{
		Matter: "top-k on the M1",
		One:    "code generation rejects it (guide 4, 24, 35 and A)",
		Other:  "runs but for k of 3 and 4 (guide B, catalog, and guide 26); k of 3 and 4 is what the M5 forbids (guide B, gates)",
		Choice: "rejected: four places, among them the measured ones",
	},
	{
		Matter: "byte 0x520",
		One:    "a gate of compressed weights from A15 on (guide 7 and 25)",
		Other:  "the secure-mode cache hint (guide 24, names by reader)",
		Choice: "both are listed; what streams is decided by the measured table of guide 7, not by the byte",
	},
	{
		Matter: "byte 0x812",
		One:    "broadcast along depth (guide B)",
		Other:  "fast path for upsampling 1x1 input (guide 35)",
		Choice: "guide B, which quotes the validator; no source has the byte's values, and it counts as clear",
	},
	{
		Matter: "sparse weights of a palette",
		One:    "sparse streams from the M1 on (guide 7 and 25)",
		Other:  "constexpr_lut_to_sparse is folded and streams from the M3 on (guide A)",
		Choice: "both: plain masks stream from A13 on, masks over indices from A15 on. So constexpr_lut_to_sparse is native from the M3 on, where guide A has bridge in the cell: constexpr_sparse_blockwise_shift_scale, with the same note, is native there",
	},
	{
		Matter:  "int8 weights that stream, in the matrix",
		One:     "constexpr_affine_dequantize is a bridge on every chip (guide A, the cells)",
		Other:   "int8 and affine weights stream from A14 on (guide A, the same row's note; guide 7 and 25, measured on M2 and M5)",
		Choice:  "native from the M2 on: what streams is native in the rows of the other forms, and here it was measured",
		Targets: []string{"h14", "h15", "h16", "h17s"},
	},
	{
		Matter:  "where width slices stop giving infinity",
		One:     "from A15 on (guide 3, 19, 35 and A)",
		Other:   "the route that saturates is there on every descriptor with patches, A17 included (guide 35); only M1, M2 and M5 were measured",
		Choice:  "A13 and A14 saturate, measured; A15 and A16 are predicted clean, A17 measured clean",
		Targets: []string{"h13", "h14", "h15", "h16", "h17"},
	},
	{
		Matter:  "rounding of ties",
		One:     "to even: 2049 becomes 2048 (guide 3, M1)",
		Other:   "2049 becomes 2050 on the M5; not settled whether that is a rounding rule (guide 3)",
		Choice:  "to even everywhere, unknown on A17",
		Targets: []string{"h13", "h17s"},
	},
	{
		Matter:  "the dispatch floor of the M1's cost model",
		One:     "0.23 ms (guide 18, fitted values)",
		Other:   "0.22 ms: the analytic anchor (guide 18, live read), which gives the published column of estimates to the microsecond",
		Choice:  "0.22 ms",
		Targets: []string{"h13"},
	},
	{
		Matter:  "the working set of the M5",
		One:     "2 MB (guide A, guide 24)",
		Other:   "4.72 MB, measured as a threshold (guide 12)",
		Choice:  "2 MB: what the compiler splits by",
		Targets: []string{"h17s"},
	},
	{
		Matter:  "the version of the M1's task descriptors",
		One:     "7 (h13 2, real programs; coreml_to_ane_hwx)",
		Other:   "5 (guide 25 and 36), or 10 (guide 36, barriers)",
		Choice:  "7: no real file shows another",
		Targets: []string{"h13"},
	},
	{
		Matter:  "the version of H15's task descriptors",
		One:     "8 (coreml_to_ane_hwx, table dumped from the compiler)",
		Other:   "13 (coreml_to_ane_hwx, earlier parsing guide), or 11 or 17 (guide 35, patch-width offsets)",
		Choice:  "8",
		Targets: []string{"h15"},
	},
	{
		Matter:  "FIFO transfers and zero-skipping",
		One:     "byte 0x563 is set on A18 alone (guide 24); zero-skipping is implemented on the M1 (guide 25)",
		Other:   "the setters of both do something from H17 on only (coreml_to_ane_hwx, feature support)",
		Choice:  "the byte as decoded; kernels for H13 with strides are zero-skipping streams, as its recorded programs have them, whatever the byte says",
		Targets: []string{"h13", "h17", "h18"},
	},
	{
		Matter:  "Winograd convolution",
		One:     "byte 0x680 is set on the M1 (guide 20); selected for eligible 3x3 convolutions (guide A)",
		Other:   "the setter in one dimension does something from H17 on, the one in two dimensions on no chip (coreml_to_ane_hwx, feature support)",
		Choice:  "the byte as decoded; no verdict and no estimate depends on it",
		Targets: []string{"h13", "h17"},
	},
	{
		Matter: "targets beyond those of guide 34",
		One:    "28 constructors (guide 34)",
		Other:  "the strings h15m, h15p, h15s and h15d are recognized (guide 35); a later compiler has h18a, h18p, h18g, h19, m12 and u4 (coreml_to_ane_hwx); coreai-build takes p, g, s and c of H13 to H17, h11p, h11g, h12p, h18p, h19p, h18g and the d of some (coreai H)",
		Choice: "what is the name of a known chip is a row, predicted as a whole from the nearest that has a table; h15m, h18a, m12 and u4, of which no device told, are left out",
	},
	{
		Matter: "the size of the compiler's table",
		One:    "0x938 bytes (guide 24)",
		Other:  "0x348 bytes (guide 35)",
		Choice: "0x938: bytes above 0x348 are read",
	},
	{
		Matter:  "the DMA granule of M9",
		One:     "16 (guide A, before A13)",
		Other:   "1 on the small profiles (guide 24)",
		Choice:  "16 for M9, 1 for M11, which guide 34 calls the small profile",
		Targets: []string{"m9", "m11"},
	},
	{
		Matter:  "cost by family",
		One:     "a bandwidth clamp and a setup ramp by size bucket (guide 35, per-family cost model), where family 4 is called the M1 and 3 the A12",
		Other:   "fitted anchors by chip (guide 18)",
		Choice:  "guide 18: it was held against silicon; guide 35's numbers have no unit and its family numbers contradict its own enumeration",
		Targets: []string{"h13", "h17s"},
	},
	{
		Matter: "three-dimensional convolution",
		One:    "the byte attests it from A13 on (guide 12 and 24), and an M4 takes it (Apple-Neural-Engine-Microarchitecture-Study-M6, operators: reported by the segmenter)",
		Other:  "fails backend lowering on every device mask (guide 4, 22 and 24, measured on the M1)",
		Choice: "no code, on every target: it was tried, and the other sources did not run it",
	},
	{
		Matter:  "top-k with k 3 or 4 after the M1",
		One:     "forbidden on the M5 (guide B, gates; ANEForge), at every width (guide B, catalog)",
		Other:   "k of 4 fails by itself for h16g and compiles for h18g; inside a network it runs on the M4 through Core ML (Apple-Neural-Engine-Microarchitecture-Study-M6)",
		Choice:  "authored layers fail from A14 to A17, converted ones do not",
		Targets: []string{"h14", "h15", "h16", "h17", "h18"},
	},
	{
		Matter:  "sort on the M4",
		One:     "native from the M2 on (guide A, predicted for the M4)",
		Other:   "not on the engine: argsort gives int32 (Apple-Neural-Engine-Microarchitecture-Study-M6)",
		Choice:  "guide A",
		Targets: []string{"h16"},
	},
	{
		Matter:  "slices that begin where a tensor says, after the M1",
		One:     "code from the M2 on (guide 35 and A)",
		Other:   "closed on the direct path (guide 19); not on the engine of an M4 (Apple-Neural-Engine-Microarchitecture-Study-M6)",
		Choice:  "guide A",
		Targets: []string{"h14", "h15", "h16", "h17"},
	},
	{
		Matter:  "resample as a unit after the M1",
		One:     "authored samplers are accepted from A14 on (guide 26, arch-gated negatives)",
		Other:   "as a unit it runs at the nearest elements and fails between them, on the M5 (ANEForge)",
		Choice:  "authored units that sample between elements fail on A17, where that was measured",
		Targets: []string{"h17s"},
	},
	{
		Matter: "sine and cosine as units",
		One:    "no authoring bridge: conversion alone has them (guide 4 and 26, two compile routes)",
		Other:  "the functions have numbers 32 and 33 among the modes that a Neuron takes (guide C.1)",
		Choice: "the first: authored units fail on every chip",
	},
	{
		Matter:  "crop-resize after the M1",
		One:     "native from the M2 on (guide A), by direct authoring too (guide 26)",
		Other:   "as a unit it fails to compile on the M5 (ANEForge); as an operation an M4 leaves it to the CPU (Apple-Neural-Engine-Microarchitecture-Study-M6)",
		Choice:  "guide A for converted operations; authored units fail on A17, where that was measured",
		Targets: []string{"h14", "h16", "h17s"},
	},
	{
		Matter: "local response normalization of 16 channels or more",
		One:    "native (guide A, measured on the M1)",
		Other:  "fails code generation on the M1 (guide B), and on the M5 (ANEForge)",
		Choice: "both: authored units fail, converted operations do not (ANEForge says that the operation has no such limit)",
	},
	{
		Matter: "non-maximum suppression",
		One:    "never on the engine (guide A and B)",
		Other:  "compiles and runs on the M5; what of it ran where was not looked at (ANEForge)",
		Choice: "never",
	},
	{
		Matter:  "gather on the M1",
		One:     "batch 1 and depth 1 (guide A)",
		Other:   "three axes and three index channels too, index width and depth 1 (guide 4, 17 and 35)",
		Choice:  "the first for a gather along one axis, the second for several",
		Targets: []string{"h13", "h13g", "t1"},
	},
	{
		Matter: "padding along channels",
		One:    "rejected, with a string that says so (guide 17 and B)",
		Other:  "an M4 takes it as an operation (Apple-Neural-Engine-Microarchitecture-Study-M6)",
		Choice: "the layer is rejected; a converter can concatenate instead",
	},
	{
		Matter: "factors of pixel shuffle",
		One:    "1, 2, 3, 4 and 8 (guide B, gates)",
		Other:  "what factors into 2, 3, 4 and 8 (guide 26, for all rearrangements)",
		Choice: "guide B for PixelShuffle and PixelUnshuffle, guide 26 for the others",
	},
	{
		Matter: "how far a transpose reaches",
		One:    "16384 up to the M3, 65536 from A16 on; beyond that it is rejected (guide 17, A and B)",
		Other:  "beyond that it is made of several passes (guide 35); 8388607 was measured on the M2 (ANEForge)",
		Choice: "the limit; tensors have no longer axes in any case",
	},
	{
		Matter: "where an input view may stand",
		One:    "after a reshape (guide 26)",
		Other:  "anywhere: it was run on an input (ANEForge, M5; guide B has no such gate)",
		Choice: "anywhere",
	},
	{
		Matter:  "state on the M1",
		One:     "reading and writing of states is native (guide A)",
		Other:   "refused by the compiler: tasks have no form for it, and one buffer is bound as output and as the next input, which was run (guide 2 and 26); circular state layers are gated hard (guide 26); a ring buffer written as a unit fails on the M5 (ANEForge), and so does a Core ML state in a language model on the M5 Pro (mobius)",
		Choice:  "a state is one buffer that is bound as source and as destination, with the masked or sliced write in tasks of ours: check, compile and run take it, and strictly it is refused; circular axes need A14, and an authored ring buffer fails everywhere",
		Targets: []string{"h13"},
	},
	{
		Matter: "casts to int32",
		One:    "rejected on the M1 (guide 4 and A)",
		Other:  "for h16g and h18g too, and from int32 as well (Apple-Neural-Engine-Microarchitecture-Study-M6)",
		Choice: "no code, on every target: the datapath has no such numbers",
	},
	{
		Matter:  "logical_and and cumsum on later chips",
		One:     "logical_and has no path, cumsum a curated one (guide A)",
		Other:   "an M4 takes logical_and and not cumsum (Apple-Neural-Engine-Microarchitecture-Study-M6); cumsum is not implemented on the M5 (ANEForge)",
		Choice:  "guide A, which decides the conversion route",
		Targets: []string{"h16", "h17s"},
	},
	{
		Matter: "dense weights above 64 KiB on the M1",
		One:    "the layer is split (guide 24, ExceedKmemSizeLimit)",
		Other:  "recorded programs have 2 MiB in a task; from 256 rows on, a task has 16 times 64 KiB (oracles 3 and 6)",
		Choice: "the records: 64 KiB for each engine, and only where weights are gone through more than once",
	},
}

// Concerns reports whether the matter is about the target, or the generation or
// base chip that is the same.
func (c *Conflict) Concerns(t *Target) bool {
	return slices.ContainsFunc(c.Targets, func(name string) bool { return rowNamed(name).Same(t) })
}
