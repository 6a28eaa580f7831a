package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A pairRule is why two tasks do not run side by side.
type pairRule uint8

// The disqualifiers, in the order of the seed, and one of ours.
const (
	coIssues     pairRule = iota
	unscheduled           // one of them is not in the schedule: it runs when the program is loaded, or in another partition
	sameClass             // both are of one engine class, which does one thing at a time
	enginesApart          // they are on different engines
	related               // one needs what the other makes, itself or through others
	inChain               // an operand of one is chained, or could be
	bothStream            // both results go to main memory and would wait for each other
	notReady              // ours: what the second needs is made between the two
)

var pairRuleNames = [...]string{
	"co-issue", "unscheduled", "same engine class", "different engines", "producer and consumer", "chained or chainable", "both results stream", "not ready",
}

func (r pairRule) String() string { return pairRuleNames[r] }

// coIssue finds tasks of a partition that can run side by side: one on the array, one on the planar engine (seed compiler,
// phase 3). A task has one partner at most, the nearest:
//
//	task 0  %s = anec.softmax(%q)       planar  \  side by side
//	task 1  %p = MatMul(%t, %w)    array   /
//
// Who takes part in a chain has no partner.
func coIssue(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	oc := s.Plan.OnChip
	p := &pairing{Segment: s, OnChip: oc, operands: oc.Operands(), results: oc.Results()}
	for _, part := range oc.Partitions {
		for a := part.First; a <= part.Last; a++ {
			if p.chains(a) || oc.Tasks[a].Partner >= 0 {
				continue
			}
			for b := a + 1; b <= part.Last && oc.Tasks[a].Partner < 0; b++ {
				if oc.Tasks[b].Partner < 0 && p.rule(a, b) == coIssues {
					oc.Tasks[a].Partner, oc.Tasks[b].Partner = b, a
					oc.Pairs = append(oc.Pairs, [2]int{a, b})
				}
			}
		}
	}
	return nil
}

// pairing is the search for pairs.
type pairing struct {
	*segment.Segment
	*segment.OnChip
	operands, results [][]*segment.ChipValue

	of    int    // a task
	after []bool // the tasks that need what it makes
}

// rule goes through the disqualifiers for tasks a and b, a before b.
func (p *pairing) rule(a, b int) pairRule {
	x, y := &p.OnChip.Tasks[a], &p.OnChip.Tasks[b]
	switch {
	case x.AtLoad || y.AtLoad || x.Partition != y.Partition:
		return unscheduled
	case x.Unit.Class() == y.Unit.Class() && x.Unit != anec.UnknownUnit:
		return sameClass
	case !x.Unit.SharesEngine(y.Unit):
		return enginesApart
	case p.needs(b, a):
		return related
	case p.chains(a) || p.chains(b):
		return inChain
	case p.stream(a) && p.stream(b) && !p.residentWeight(a) && !p.residentWeight(b):
		return bothStream
	}
	for _, v := range p.operands[b] {
		if v.Maker > a {
			return notReady
		}
	}
	return coIssues
}

// needs reports whether task b reads what a makes, or what another makes of it. It remembers a, as the search goes
// through all b.
func (p *pairing) needs(b, a int) bool {
	if p.of != a || p.after == nil {
		p.of, p.after = a, make([]bool, len(p.operands))
		for i := a + 1; i < len(p.after); i++ {
			for _, v := range p.operands[i] {
				if v.Maker == a || v.Maker > a && p.after[v.Maker] {
					p.after[i] = true
				}
			}
		}
	}
	return p.after[b]
}

// chains reports whether a task takes part in a chain, or could: by what it reads or by what it makes.
func (p *pairing) chains(i int) bool {
	for _, v := range p.operands[i] {
		if v.Chain == segment.Chainable {
			return true
		}
	}
	for _, v := range p.results[i] {
		if v.State == segment.Chained {
			return true
		}
	}
	return false
}

// stream reports whether what a task makes goes to main memory.
func (p *pairing) stream(i int) bool {
	for _, v := range p.results[i] {
		if !v.State.OnChip() {
			return true
		}
	}
	return false
}

// residentWeight reports whether a task is a matrix multiplication whose weights stay on chip: it takes nothing from the
// channel that the results go through, and so does not block its partner.
func (p *pairing) residentWeight(i int) bool {
	l := p.Plan.Layers[i]
	switch l.Kind() {
	case anec.KindMatMul, anec.KindLinear:
	case anec.KindConv: // a matrix multiplication that was written as one
		if w := l.Params.(*anec.Conv); w.Kernel != [3]int{1, 1, 1} {
			return false
		}
	default:
		return false
	}
	w := segment.WeightBottom(l)
	if w == nil {
		return false
	}
	bytes, _ := w.Type.Bytes()
	return int64(bytes) <= p.Bytes && p.OnChip.Tasks[i].Unit.Class() == hal.MultiplyAccumulate
}
