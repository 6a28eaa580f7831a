package hal

import (
	"fmt"
	"slices"
)

// A WeightForm is a way in which weights are compressed. A target streams it,
// and fewer bytes move, or folds it: then the weights are made dense before they
// move, and compression saves room in the file alone.
type WeightForm uint8

// The forms.
const (
	Int8Affine      WeightForm = iota // int8 with a scale per tensor or channel
	Palette                           // indices into a table
	Sparse                            // a mask and what is not zero
	Blockwise                         // int8 or int4 with a scale per block
	SparsePalette                     // a mask and indices
	SparseBlockwise                   // a mask and int8 with a scale per block
	FP8Palette                        // indices into a table of E4M3
)

// A WeightFormInfo is the row of a form.
type WeightFormInfo struct {
	Form   WeightForm
	Name   string
	MIL    string // the operation that decompresses it
	Gate   string
	Source string

	// What becomes of it in each family, A11Legacy first: s streams, f folds;
	// in capitals where it was measured.
	families string
}

var weightForms = []WeightFormInfo{
	//                                                                                                                                            A11…A18
	{Int8Affine, "int8 affine", "constexpr_affine_dequantize", "0x48f and the bytes that are set from A14 on", "guide 7, what streams; guide 25, four codecs", "ffFSssSs"},
	{Palette, "palette", "constexpr_lut_to_dense", "0x48f and 0x529", "guide 7, what streams; guide 25, four codecs", "ffSSssSs"},
	{Sparse, "sparse", "constexpr_sparse_to_dense", "0x48f", "guide 7, what streams; guide 25, four codecs", "ffSSssSs"},
	{Blockwise, "blockwise affine", "constexpr_blockwise_shift_scale", "0x48f and the bytes that are set from A15 on", "guide 7, what streams; guide 25, four codecs", "ffFFssSs"},
	{SparsePalette, "sparse palette", "constexpr_lut_to_sparse", "", "guide A: streams from the M3 on", "ffffssss"},
	{SparseBlockwise, "sparse blockwise", "constexpr_sparse_blockwise_shift_scale", "", "guide A: streams from the M3 on", "ffffssss"},
	{FP8Palette, "E4M3 palette", "", "0x52d", "guide 36, fp8", "fffffffs"},
}

// WeightForms returns the table.
func WeightForms() []WeightFormInfo { return weightForms }

func (f WeightForm) String() string {
	for i := range weightForms {
		if weightForms[i].Form == f {
			return weightForms[i].Name
		}
	}
	return fmt.Sprintf("form %d", uint8(f))
}

// FormOf finds the form that a MIL operation decompresses.
func FormOf(operation string) (WeightForm, bool) {
	for _, f := range weightForms {
		if f.MIL != "" && f.MIL == operation {
			return f.Form, true
		}
	}
	return 0, false
}

// Streams reports whether the target streams a form, and how that is known. Our
// own engine keeps every form as it is.
func (t *Target) Streams(form WeightForm) (bool, Status) {
	if t.Family == Virtual {
		return true, Decoded
	}
	i := slices.IndexFunc(weightForms, func(f WeightFormInfo) bool { return f.Form == form })
	if i < 0 {
		return false, Unknown
	}
	c := weightForms[i].families[t.Family]
	switch {
	case t.tier == smallTier, t.tier == referenceTier, c == 's', t.row.like != "" && (c == 'f' || !t.on("h14s")): // the M2 Pro was measured
		return c == 's' || c == 'S', Predicted
	case c == 'f':
		return false, Decoded
	}
	return c == 'S', Measured
}

// Weights is what the target's descriptors can say of compressed weights.
type Weights struct {
	PaletteBits   []int // widths of an index
	PaletteGroups []int // output channels that may share a table entry
	ManyTables    bool  // more than one table per kernel
	ZeroPoint     bool  // of an affine form; else it is symmetric
	SparseIndices bool  // a mask over indices
	Status        Status
	Source        string
}

func weights(t *Target) Weights {
	const source = "guide 25, four codecs and codegen version matrix"
	groups := []int{1, 2, 4, 5}
	switch {
	case t.Family == Virtual:
		return Weights{[]int{1, 2, 3, 4, 6, 8}, nil, true, true, true, Decoded, "ours: any group"}
	case t.Family < A13:
		return Weights{nil, nil, false, false, false, Unknown, "no source"}
	case t.Family == A13:
		return Weights{[]int{4, 8}, groups, false, false, false, Decoded, source}
	}
	return Weights{[]int{3, 4, 6, 8}, groups, true, true, true, Predicted, source + ": a later descriptor, from which version on is not said"}
}
