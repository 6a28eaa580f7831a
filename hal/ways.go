package hal

// Ways are how a target's compiler goes about its work, where compilers differ and no limit or capability says how. The
// zero value is a compiler that forms nothing.
type Ways struct {
	// ElementwiseRuns lets an epilogue hold a run of elementwise steps, which may read live tensors. Off, an elementwise
	// layer joins another one only by a slot of the epilogue: as gain, offset or activation, with exactly one live operand
	// and one constant. A layer with two live operands is then one of its own.
	ElementwiseRuns bool

	// PreActivation is the slot for an activation before gain and offset.
	PreActivation bool

	// PlanarSlots bounds the epilogue of layers on the planar engine to one number for gain, one for offset, and relu: it
	// has no table and no value per channel.
	PlanarSlots bool

	// SourceReLU lets an elementwise layer of two operands take the relu of one of them as it reads it.
	SourceReLU bool

	// MatmulAsConv writes a product with a constant matrix that fits the working set as a convolution.
	MatmulAsConv bool

	// FindAttention makes one layer of attention that is written out.
	FindAttention bool

	// AttentionCuts makes a layer of attention a segment of its own.
	AttentionCuts bool

	// HiddenCuts makes each unit of a network description whose kind is hidden a segment of its own.
	HiddenCuts bool

	// FoldWeights decodes compressed weights that do not stream before they are multiplied; off, they stay as they are.
	FoldWeights bool

	// KernelPerEngine gives each engine a kernel memory of its own for what is not streamed, of the size of the dense cap;
	// off, they share the streamed cap.
	KernelPerEngine bool
}

// A way is one field of Ways: whether our own engine has it, whether Apple's compiler has it, and from which source.
type way struct {
	name   string
	field  func(*Ways) *bool
	own    bool
	a13    bool // and before
	later  bool
	source string
	status Status // on H13; elsewhere it is predicted where it is measured here
}

const table22 = "seed compiler, Table 22.3"

var ways = []way{
	//                                                                       own    A13    later
	{"elementwise_runs", func(w *Ways) *bool { return &w.ElementwiseRuns }, true, false, false, table22 + ": ScaledEWOrEWWithConstInToGOC and its guard; oracles 3: an add after a matmul is a task of its own", Measured},
	{"pre_activation", func(w *Ways) *bool { return &w.PreActivation }, true, false, true, "seed compiler, Listing 22.3; the registers of H13 have one function, behind gain and offset: h13 2.7", Decoded},
	{"planar_slots", func(w *Ways) *bool { return &w.PlanarSlots }, false, true, true, "h13 2.6: scale, bias and relu in the planar engine's words; oracles 3: relu after an add is no task", Measured},
	{"source_relu", func(w *Ways) *bool { return &w.SourceReLU }, false, true, true, "oracles 3: x + relu(x) is one task; h13 2.5, word 0x4800", Measured},
	{"matmul_as_conv", func(w *Ways) *bool { return &w.MatmulAsConv }, false, true, true, table22 + ": ReplaceMatmulWithConv; seed compiler, Lowering one operation: a weight above the working set stays a product", Decoded},
	{"find_attention", func(w *Ways) *bool { return &w.FindAttention }, true, false, false, "oracles 3: attention that is written out is 9 tasks", Measured},
	{"attention_cuts", func(w *Ways) *bool { return &w.AttentionCuts }, false, true, true, table22 + ": a hard segment cut between programs", Decoded},
	{"hidden_cuts", func(w *Ways) *bool { return &w.HiddenCuts }, false, true, true, "seed hidden-layers: authored layers cut dispatch segments of their own", Decoded},
	{"fold_weights", func(w *Ways) *bool { return &w.FoldWeights }, false, true, true, "guide 7, what streams", Measured},
	{"kernel_per_engine", func(w *Ways) *bool { return &w.KernelPerEngine }, false, true, false, "guide 35, kernel-data path: per-core replication before A14; oracles 6: products of 2^19 weights from 256 rows on", Measured},
}

// of is whether a target's compiler has a way, and how that is known.
func (w *way) of(t *Target) (bool, Status) {
	set, status := w.inTier(t)
	status, _ = t.known(status, "")
	return set, status
}

func (w *way) inTier(t *Target) (bool, Status) {
	switch {
	case t.Family == Virtual:
		return w.own, Decoded
	case t.tier == a13Tier:
		return w.a13, w.status
	case t.Family < A13:
		return w.a13, Predicted
	case w.status == Measured:
		return w.later, Predicted
	}
	return w.later, w.status
}

// waysOf has the fields of a target.
func waysOf(t *Target) (all Ways) {
	for i := range ways {
		*ways[i].field(&all), _ = ways[i].of(t)
	}
	return all
}
