package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hal"
)

// OnHost says of each function what runs on the host of which of these targets, or is refused there, a line each. It is empty if
// the engines run every operation.
func (r *Report) OnHost(targets []*hal.Target) (lines []string) {
	for _, f := range r.Functions {
		for _, t := range f.Targets {
			among := slices.ContainsFunc(targets, func(x *hal.Target) bool { return x.Name == t.Name })
			if among && !t.Whole() {
				lines = append(lines, fmt.Sprintf("%s, function %s: %s", t.Name, report.Printable(f.Name), t.Outcome(f)))
			}
		}
	}
	return lines
}

// Whole reports whether the engine runs every operation, casts at the boundaries aside.
func (t *Target) Whole() bool { return t.OnHost() == 0 && !t.Refused() }

// Refused reports whether the engine does not take a layer of a graph: then it takes none.
func (t *Target) Refused() bool { return t.count(Nowhere) > 0 }

// OnHost counts the operations that the host runs.
func (t *Target) OnHost() int { return t.count(Host) }

// BoundaryCasts counts the casts of the descriptor: between features, or segments of the host, and segments of the engine.
func (t *Target) BoundaryCasts() int { return t.count(Boundary) }

func (t *Target) count(backend string) int { return len(t.placed(backend)) }

// placed are the operations on a backend.
func (t *Target) placed(backend string) (indices []int) {
	for i, p := range t.Places {
		if p.Backend == backend {
			indices = append(indices, i)
		}
	}
	return indices
}

// Dispatches counts the segments on the engine.
func (t *Target) Dispatches() (n int) {
	for _, s := range t.Segments {
		if s.Backend == Engine {
			n++
		}
	}
	return n
}

// Verdict is a target in one line: whether the model runs whole, in how many segments and what falls back, and an
// estimate.
func (t *Target) Verdict(f *Function) string { return t.Outcome(f) + "; " + t.Time() }

// Outcome is a verdict without the estimate.
func (t *Target) Outcome(f *Function) string {
	switch {
	case t.Refused():
		return "is refused: " + f.kinds(t.placed(Nowhere))
	case len(t.Segments) == 0:
		return "nothing to run"
	case t.Whole():
		return "runs whole on the engine, " + count(len(t.Segments), "segment")
	case t.Dispatches() == 0:
		return "runs whole on the host: " + f.kinds(t.placed(Host))
	}
	return fmt.Sprintf("%s; on the host: %s", count(len(t.Segments), "segment"), f.kinds(t.placed(Host)))
}

// Time is the estimate with its error, without which it would say too much, or why there is none.
func (t *Target) Time() string {
	if t.Estimate == nil {
		return "no estimate: " + t.NoEstimate
	}
	return fmt.Sprintf("%s (%s bound)", t.Estimate.Text, t.Estimate.Bound)
}

// kinds counts operations by kind.
func (f *Function) kinds(indices []int) string {
	kinds := map[string]int{}
	for _, i := range indices {
		kinds[f.Operations[i].Kind]++
	}
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list = append(list, times(kind, kinds[kind]))
	}
	return strings.Join(list, ", ")
}

func times(what string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s ×%d", what, n)
	}
	return what
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
