// Package check says what each chip makes of a model, and why, without running it.
//
//	r, err := check.File(ctx, path, check.Options{Targets: hal.Base()})
//	r.WriteText(os.Stdout)
//
// A Report is data. It is written as text, Markdown, JSON, a page of HTML and SARIF. What a chip takes, the compiler
// knows: this package asks it, puts findings together and writes them down.
package check

import (
	"strconv"

	"github.com/espalier-ane/espalier/internal/diag"
)

// A Report is what chips make of a model.
type Report struct {
	Model     string // path, as it was given
	Route     Route
	Functions []*Function
	Warnings  []*Finding // of the reader of a graph

	// Readings are the names that were asked for and on which sources disagree: all their targets are there, and forms for
	// people have one line for those of a name that agree.
	Readings []Reading
}

// Rename gives the model another path, in findings too.
func (r *Report) Rename(path string) {
	r.Model = path
	for _, f := range r.Functions {
		for _, t := range f.Targets {
			for _, x := range t.Findings {
				x.Place.File = path
			}
		}
	}
}

// A Function is what chips make of a function.
type Function struct {
	Name       string
	Operations []*Operation // those that compute, in program order
	Targets    []*Target
	Graph      bool // of native layers: these are its operations

	// AbsentWeights says that the weight files are not there: nothing is said that would follow from their numbers.
	AbsentWeights bool
	// Shapes are those of the inputs that are flexible, which the report is for: "x 1×3×224×224".
	Shapes []string
}

// An Operation of a model.
type Operation struct {
	Name, Kind string
	Line       int    // in a text; 0 for a binary model
	Offset     int64  // in a binary model
	Origin     string // where in the source model it came from, if the metadata says
}

// A Target is what one chip makes of a function.
type Target struct {
	Name     string // of the compiler's target: "h13g"
	Chip     string // what people call it: "M1"
	Places   []Place
	Segments []Segment
	Findings []*Finding // by operation, then by ID

	// Authored is what the authored route makes otherwise, of a report on both routes.
	Authored *Authoring

	// Estimate is nil where the cost model has none; NoEstimate says why.
	Estimate   *Estimate
	NoEstimate string
}

// A Place is where an operation runs: of the operation with the same index.
type Place struct {
	Backend string // Engine, Host, Boundary or Nowhere
	Status  string // "native", "family-gated", "bridge" or "no path"
}

// The backends.
const (
	Engine   = "engine"
	Host     = "host"
	Boundary = "boundary" // a cast of the descriptor, beside a segment of the engine
	Nowhere  = "nowhere"  // a layer of a graph that the engine does not take: no host has a form of it
)

// A Segment is a run of operations on one backend. One on the engine is one dispatch.
type Segment struct {
	Backend    string
	Operations []int // indices
}

// A Finding is something that the author of the model should know. Its place names one of the operations, or none if it is
// about the whole function. docs/diagnostics.md explains the IDs.
type Finding = diag.Finding

// A Severity says what a finding means for the model.
type Severity = diag.Severity

// The severities, the gravest first.
const (
	Refusal  = diag.Refusal  // the engine's compiler refuses the network as a whole
	Fallback = diag.Fallback // the operation runs on the host
	Hazard   = diag.Hazard   // it runs on the engine, and numbers or speed may suffer
	Note     = diag.Note     // it runs on the engine by another way than its own, or is about the report
)

// A Confidence is how a finding is known.
type Confidence = diag.Confidence

// The confidences, the surest last.
const (
	Disputed  = diag.Disputed  // sources disagree
	Predicted = diag.Predicted // follows by a rule
	Decoded   = diag.Decoded   // read from the engine's compiler
	Measured  = diag.Measured  // seen on the chip
)

// An Estimate is a time by the cost model, never exact.
type Estimate struct {
	Microseconds float64
	Bound        string // "dispatch", "bandwidth" or "compute"
	Dispatches   int
	Excluded     string // what it is without: "1 segment on the host"
	Error        string // how far it may be off: "median error 31 %"
	Text         string // all of that in words, rounded
}

// Rounded has two digits of the microseconds, which are more than the error allows.
func (e *Estimate) Rounded() float64 {
	x, _ := strconv.ParseFloat(strconv.FormatFloat(e.Microseconds, 'e', 1, 64), 64) // its own text always parses
	return x
}
