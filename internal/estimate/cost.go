package estimate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
)

// The cost model of guide 18. It has three stages:
//
//	cycles     the operations of a layer, a multiply and an addition being two
//	roofline   the larger of operations / peak and operand bytes / bandwidth
//	floor      plus what a dispatch costs whatever its work
//
// Its anchors are those of the target (hal.Cost): peak, bandwidth and floor. Their fit has in it what the guide's
// cycle count has beside the operations: the compute units, the clock and the efficiency. The counting below is the one
// that gives the guide's column for the M1, with no constant of ours. Its peak is 3.25e12 and its bandwidth 9.0e9; its
// floor is the one that the guide calls the frontend's anchor, 220 µs, where the table of parameters says 0.23 ms, with
// which the column would be 10 µs more:
//
//	                       operations  fp16 bytes   compute  memory   + 220 µs  guide
//	3x3 C256 to 256 at 28  924,844,032  1,982,464    285 µs   220 µs     505 µs    505
//	1x1 C512 at 32         536,870,912  2,621,440    165 µs   291 µs     511 µs    511
//	1x1 C1024 at 16        536,870,912  3,145,728    165 µs   350 µs     570 µs    569
//	1x1 C2048 at 8         536,870,912  8,912,896    165 µs   990 µs    1210 µs   1210
//
// The first has 466 operations a byte and the last 60, as the guide says too.

// A Bound is what a time is mostly made of.
type Bound uint8

// The bounds.
const (
	NoBound Bound = iota // there is no estimate
	BoundByDispatch
	BoundByBandwidth
	BoundByCompute
)

func (b Bound) String() string { return [...]string{"", "dispatch", "bandwidth", "compute"}[b] }

// An Estimate is a time that the cost model predicts, or why it predicts none.
type Estimate struct {
	Absent string // why there is no number; empty if there is one

	Seconds float64
	Bound   Bound

	// What it is made of: the work, the time of each term of the roofline, the floors of all dispatches.
	FLOPs, Bytes           float64
	Compute, Memory, Floor float64
	Dispatches             int

	// Excluded is what the number does not include, such as the operations on the host.
	Excluded string

	// Error says how far off the model is on this target.
	Error string
}

// Known reports whether there is a number.
func (e Estimate) Known() bool { return e.Absent == "" }

// String formats an estimate as "~510 µs, median error 31 %, for ranking". Two digits are more than the error allows.
func (e Estimate) String() string {
	if !e.Known() {
		return "no estimate: " + e.Absent
	}
	s := "~" + twoDigits(e.Seconds*1e6) + " µs"
	if e.Excluded != "" {
		s += " without " + e.Excluded
	}
	return s + ", " + e.Error + ", for ranking"
}

// twoDigits rounds to two significant digits.
func twoDigits(x float64) string {
	if x <= 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	if unit < 1 {
		return fmt.Sprintf("%.2g", x)
	}
	return fmt.Sprintf("%.0f", math.Round(x/unit)*unit)
}

// Absent is an estimate without a number.
func Absent(format string, args ...any) Estimate {
	return Estimate{Absent: fmt.Sprintf(format, args...)}
}

// ErrorText says how far off the model is. It was held against a broad sweep of graphs on one chip alone.
func ErrorText(c *hal.Cost) string {
	switch {
	case c.MedianError > 0:
		return fmt.Sprintf("median error %.0f %%", c.MedianError*100)
	case c.FitError > 0:
		return fmt.Sprintf("error %.0f %% on the convolutions that it was fitted to, not measured on others", c.FitError*100)
	}
	return fmt.Sprintf("error not measured, anchors %v", c.Status)
}

// roofline is stages two and three: what one dispatch of so much work takes.
func roofline(w work, c *hal.Cost) Estimate {
	e := Estimate{
		FLOPs: w.flops, Bytes: w.bytes,
		Compute: w.flops / c.PeakFLOPS, Memory: w.bytes / c.Bandwidth,
		Floor: c.DispatchFloor, Dispatches: 1,
		Error: ErrorText(c),
	}
	e.Seconds = max(e.Compute, e.Memory) + e.Floor
	e.Bound = e.bound()
	return e
}

// bound names the largest term. A dispatch whose work is less than its floor gains nothing from a faster array.
func (e *Estimate) bound() Bound {
	switch {
	case max(e.Compute, e.Memory) < e.Floor:
		return BoundByDispatch
	case e.Memory > e.Compute:
		return BoundByBandwidth
	}
	return BoundByCompute
}

// EstimateLayer predicts the time of a layer that is dispatched by itself; false if the model has no number for it.
func Layer(l *anec.Layer, t *hal.Target) (Estimate, bool) {
	if e, ok := noAnchors(t); !ok {
		return e, false
	}
	if why := noCostForm(l); why != "" {
		return Absent("%s", why), false
	}
	w := work{flops: layerFLOPs(l), bytes: layerBytes(l, t, nil)}
	return roofline(w, t.Cost), true
}

// EstimateSegment predicts the time of a graph that is one dispatch. The model sums operations and bytes over the
// layers, takes the larger of the two times and adds one floor. So it wants the graph after fusion: a layer's epilogue
// adds no bytes but those of a second live operand. What a layer makes for others of the graph stays on chip while it
// fits into the target's working set, and adds none either (guide 9 and 18: the bytes of round trips are removed).
//
//	input ─→ layer ═→ layer ─→ output      ─→ counted   ═→ on chip, not counted
//	           ↑        ↑
//	        weights  weights
func Segment(g *anec.Graph, t *hal.Target) Estimate {
	if e, ok := noAnchors(t); !ok {
		return e
	}
	counted := NewResidency(g, t)
	var sum work
	for _, l := range g.Order() {
		if counted.AtLoad[l] {
			continue
		}
		if why := noCostForm(l); why != "" {
			return Absent("%s", why)
		}
		sum.flops += layerFLOPs(l)
		sum.bytes += layerBytes(l, t, counted)
	}
	return roofline(sum, t.Cost)
}

// EstimateModel is the time of a model of several segments on the engine, each of which is a dispatch. The model of
// costs has no time for what the host runs: the number is then that of the engine alone, and says so.
func Model(segments []Estimate, hostSegments int) Estimate {
	if len(segments) == 0 {
		return Absent("nothing runs on the engine")
	}
	var sum Estimate
	var missing []string
	for _, e := range segments {
		if !e.Known() {
			if !slices.Contains(missing, e.Absent) {
				missing = append(missing, e.Absent)
			}
			continue
		}
		sum.Seconds += e.Seconds
		sum.FLOPs += e.FLOPs
		sum.Bytes += e.Bytes
		sum.Compute += e.Compute
		sum.Memory += e.Memory
		sum.Floor += e.Floor
		sum.Dispatches += e.Dispatches
		sum.Error = e.Error
	}
	if len(missing) > 0 {
		return Absent("%s", strings.Join(missing, "; "))
	}
	sum.Bound = sum.bound()
	switch {
	case hostSegments == 1:
		sum.Excluded = "1 segment on the host"
	case hostSegments > 1:
		sum.Excluded = fmt.Sprintf("%d segments on the host", hostSegments)
	}
	return sum
}

// noAnchors is the answer for a target without anchors.
func noAnchors(t *hal.Target) (Estimate, bool) {
	if c := t.Cost; c == nil || c.PeakFLOPS <= 0 || c.Bandwidth <= 0 {
		return Absent("the cost model has no anchors for %s", t.Name), false
	}
	return Estimate{}, true
}
