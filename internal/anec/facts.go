package anec

import "github.com/espalier-ane/espalier/td"

// What the phases of the compiler ask of a kind. No fact has a default: its zero value says nothing, and a test finds
// the row that leaves it out.

// An Answer is yes or no.
type Answer uint8

// The answers.
const (
	No Answer = iota + 1
	Yes
)

func (a Answer) String() string { return [...]string{"", "no", "yes"}[a] }

// An EpilogueForm is what a task of a kind can do with its result before it is stored. The last
// two take steps too.
type EpilogueForm uint8

// The forms.
const (
	EpilogueNone   EpilogueForm = iota + 1 // nothing: an epilogue becomes a layer of its own
	EpilogueOwn                            // what a layer was made with: fusion adds nothing, to a view for one, which is no task
	EpilogueSteps                          // steps of a run, on targets that have runs
	EpilogueArray                          // and on a chip the seven slots: the last task is one of the array, which also copies and applies tables
	EpiloguePlanar                         // and on a chip the planar engine's slots, because the last task is one of its
)

func (f EpilogueForm) String() string {
	return [...]string{"", "none", "its own", "steps", "array", "planar"}[f]
}

// Steps reports whether elementwise layers can join as steps.
func (f EpilogueForm) Steps() bool { return f >= EpilogueSteps }

// Slots reports whether a chip's task has slots for what follows.
func (f EpilogueForm) Slots() bool { return f >= EpilogueArray }

// A View says whether a layer that does no more than its kind says is another way to look at the memory of its bottom.
type View struct {
	Only bool              // the kind is nothing else: a layer that does more is a copy of a view
	When func(Params) bool // for which fields
}

var (
	noView   = View{When: never}
	aView    = View{When: always, Only: true}
	copyView = View{When: always} // a copy that need not be made
)

func always(Params) bool { return true }
func never(Params) bool  { return false }

// InPlace reports whether a layer may write its first top over a bottom, if both lie at one spot with the same extents
// and element size: whether each element of the bottom is read no later than its place is written. What a task allows
// stands in the rows of td; see td.Op.InPlace.
type InPlace func(l *Layer, bottom int) bool

func overNone(*Layer, int) bool           { return false }
func overAny(*Layer, int) bool            { return true }
func overFirst(_ *Layer, bottom int) bool { return bottom == 0 }

// Rows are the rows of a value that a layer reads for the first tile of its result, of so many rows, overlap and all.
type Rows func(l *Layer, v *Value, tile int) int

func allRows(_ *Layer, v *Value, _ int) int     { return v.Type.Dims[H] }
func sameRows(_ *Layer, _ *Value, tile int) int { return tile }

// firstSameRows is for a kind that walks along the rows of its first bottom alone.
func firstSameRows(l *Layer, v *Value, tile int) int {
	if l.bottom(0) == v {
		return tile
	}
	return v.Type.Dims[H]
}

// rowsOver is for a layer that needs all elements along some axes.
func rowsOver(axes td.Axes, v *Value, tile int) int {
	if axes.Has(H) {
		return v.Type.Dims[H]
	}
	return tile
}

// rows is for a layer that walks over v.
func (w *Window) rows(v *Value, tile int) int {
	const h = 1
	return min((tile-1)*w.Stride[h]+w.reach(h)-w.PadBefore[h], v.Type.Dims[H])
}
