package hal

import "fmt"

// Residency is how a target's compiler keeps values in on-chip memory. The zero value keeps nothing there.
type Residency struct {
	// Margin is the share of on-chip memory that the values of a partition may take: a partition ends before the layer
	// that would go beyond. 0: there are no partitions.
	Margin float64

	// PatchPixels is how many pixels of one channel the engine computes at a time, by live operands: one, two.
	PatchPixels [2]int

	// Conflict is when rows on chip would fall into the same banks, and what is put between them then, by EngineClass.
	Conflict [2]RowPad

	// FoldPadding is how many zeros on a side of its operand a convolution reads itself, instead of a layer that writes them.
	FoldPadding int
}

// A RowPad adds Pad bytes to a stride that is a multiple of Every bytes. 0: never.
type RowPad struct{ Every, Pad int }

// EngineClass is one of the two halves of an engine that compute side by side.
type EngineClass uint8

// The classes.
const (
	MultiplyAccumulate EngineClass = iota // the array: convolutions, products; also tables and copies
	Planar                                // elementwise layers, reductions, normalizations, poolings
)

// The sources of the fields.
const (
	marginSource      = "seed compiler, phase 3: a fraction below one, no source has it; 0.85 leaves the 0.3 MB that guide 21 measured as the margin of the tiler"
	patchSource       = "oracles 5, register 0x2c of planar tasks: 70 of 72"
	conflictSource    = "h13 5 and oracles 5: rows of the array get 0x30 where they are a multiple of 0x400, planar ones 0x20 where they are one of 0x100"
	foldPaddingSource = "seed compiler, phase 4: pad optimization; h13 2.3: a convolution has its padding in register 0x1c, five bits for each side"
)

func residency(t *Target) Residency {
	if t.Family == Virtual {
		return Residency{}
	}
	return Residency{
		Margin:      0.85,
		PatchPixels: [2]int{512, 256},
		Conflict:    [2]RowPad{{0x400, 0x30}, {0x100, 0x20}},
		FoldPadding: 31,
	}
}

// residencyValues lists the fields for Values.
func (t *Target) residencyValues(add func(name, text string, status Status, source string)) {
	measured := Predicted
	if t.tier == a13Tier && t.row.like == "" || t.Family == Virtual {
		measured = Decoded
	}
	r := t.Residency
	margin := Predicted
	if t.Family == Virtual {
		margin = Decoded
	}
	add("partition_margin", fmt.Sprintf("%g", r.Margin), margin, marginSource)
	add("patch_pixels", fmt.Sprintf("%d with one live operand, %d with two", r.PatchPixels[0], r.PatchPixels[1]), measured, patchSource)
	for class, name := range []string{"array_row_pad", "planar_row_pad"} {
		c := r.Conflict[class]
		text := "none"
		if c.Every > 0 {
			text = fmt.Sprintf("%#x bytes where the stride is a multiple of %#x", c.Pad, c.Every)
		}
		add(name, text, measured, conflictSource)
	}
	add("fold_padding", fmt.Sprint(r.FoldPadding), measured, foldPaddingSource)
}
