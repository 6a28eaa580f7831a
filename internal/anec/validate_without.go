package anec

// withoutValidator says of the kinds for which the compiler exports no validator
// why, and what holds them to a target instead. RCAS and Reverse are here too:
// they are layers of the compiler and no kinds of ours.
var withoutValidator = []struct {
	Name string
	Kind Kind // 0: none
	Why  string
}{
	{"RCAS", 0, "contrast-adaptive sharpening: the compiler validates it inside and exports nothing, so no network description reaches it (guide 22, B)"},
	{"Reverse", 0, "a reversal: no exported validator and no unit (guide 22, B); a model's reverse becomes an InputView with a negative step"},

	{"NeuronCustom", KindNeuronCustom, "its parser wants two sets of keys and then rejects both together (guide 26): Codegen"},
	{"KernelRasterizer", KindKernelRasterizer, "a unit; what compiles of it is Codegen's"},
	{"CostVolume", KindCostVolume, "a unit; its widths are held where it is parsed"},
	{"FurthestPointSampling", KindFurthestPointSampling, "a unit; metric and sizes are held where it is parsed"},
	{"RadiusSearch", KindRadiusSearch, "a unit; its extents are held where it is parsed"},
	{"PlaneReader", KindPlaneReader, "image input by four-character code, behind an entitlement (guide 19): Codegen"},
	{"PlaneWriter", KindPlaneWriter, "image output, as PlaneReader: Codegen"},
	{"MatrixDecomposition", KindMatrixDecomposition, "a unit that was never seen to compile (guide A): Codegen"},
	{"Alias", KindAlias, "another name for a value: nothing to hold"},
	{"Quant", KindQuant, "a unit; formats are held where it is lowered"},
	{"DeQuant", KindDeQuant, "a unit; formats are held where it is lowered"},
	{"RingBufferReader", KindRingBufferReader, "a unit; held to what the writer is held to"},
	{"BatchNorm", KindBatchNorm, "a unit; folded into gain and offset"},

	{"Copy", KindCopy, "ours: the bypass of the array"},
	{"TypeCast", KindTypeCast, "ours: a micro-operation; casts to int32 are Codegen's"},
	{"Select", KindSelect, "ours: an elementwise operation of three operands"},
}
