package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
)

// In a segment with a layer whose encoding is not certain, tasks of the chip's own and extension records stand side by
// side, and everything lies where the memory plan says:
//
//	%a = Conv(%x, %w)       certain    task 0   version 7, its weights packed into the kernel section
//	%b = Gather(%a, %i)     not        task 1   an extension record
//	%y = Neuron(%b) relu    certain    task 2   version 7
//
// The plan gives rows on such targets whole 64 bytes, which is what the registers can say. A value that lies otherwise, as
// a transposed view does, is read and written by extension records.

// A v7mix chooses layer by layer.
type v7mix struct {
	*v7build
	s      *Segment
	layers []*anec.Layer
	at     map[*anec.Layer]int // where they stand
	root   map[*anec.Layer]*anec.Layer
	own    map[int][]Task       // by layer; of those that another one's tasks compute, none
	first  map[int]int          // of those, the layer that has the tasks
	reads  map[*anec.Value]bool // by them, from memory
	start  int                  // in scratch: what lies between the tasks of a layer
	peak   int
}

// mixOwnTasks selects the tasks of those layers of the plan that have certain ones.
func (s *Segment) mixOwnTasks() map[int][]Task {
	if !ownRows(s.Target) {
		return nil
	}
	m := &v7mix{
		v7build: newV7build(s.Graph, machineOf(s)), s: s, layers: s.Plan.Layers,
		at: map[*anec.Layer]int{}, root: map[*anec.Layer]*anec.Layer{}, own: map[int][]Task{}, first: map[int]int{}, reads: map[*anec.Value]bool{},
	}
	m.plan = s.Plan
	for i, l := range m.layers {
		m.at[l] = i
	}
	m.start = units.Align(int(s.Plan.Scratch), m.PageSize)
	m.group()
	for i := 0; i < len(m.layers); {
		m.scratch = m.start
		n := m.choose(i)
		m.peak = max(m.peak, m.scratch)
		i += n
	}
	m.dropUnread()
	m.keepChained()
	if m.peak > m.start {
		s.Plan.Scratch = int64(m.peak)
	}
	if len(m.constants.data) > 0 {
		s.streams = m.constants.data
	}
	return m.own
}

// group finds layers that another one's tasks compute along. They have to stand right before it: what they read is no
// longer there later.
func (m *v7mix) group() {
	for _, l := range slices.Backward(m.layers) {
		root := l
		if r := m.root[l]; r != nil {
			root = r
		}
		before := len(m.joined)
		m.join(l)
		if len(m.joined) == before {
			continue
		}
		for j := range m.joined {
			if m.root[j] == nil {
				m.root[j] = root
			}
		}
	}
	members := map[*anec.Layer]int{}
	first := map[*anec.Layer]int{}
	for i, l := range m.layers {
		if r := m.root[l]; r != nil {
			if members[r] == 0 {
				first[r] = i
			}
			members[r]++
		}
	}
	for _, l := range m.layers {
		if n := members[l]; n > 0 && first[l]+n != m.at[l] {
			m.ungroup(l)
		}
	}
}

// ungroup leaves a layer alone with what it computes itself.
func (m *v7mix) ungroup(root *anec.Layer) {
	for l, r := range m.root {
		if r == root {
			delete(m.root, l)
			delete(m.joined, l)
		}
	}
}

// choose selects the tasks of the layer at i, or of the layer that computes it along, if they are certain. It returns by
// how many layers they count.
func (m *v7mix) choose(i int) int {
	l := m.layers[i]
	if r := m.root[l]; r != nil {
		l = r
	}
	last := m.at[l]
	if m.take(l, i, last) {
		return last - i + 1
	}
	grouped := len(m.root)
	m.ungroup(l)
	if len(m.root) != grouped {
		m.take(m.layers[i], i, i)
	}
	return 1
}

// take selects the tasks of a layer, which stand for those from first to last.
func (m *v7mix) take(l *anec.Layer, first, last int) bool {
	m.touched = m.touched[:0]
	ops, ok := m.attempt(func() ([]*units.Op, bool) {
		ops, ok := selectV7(l, m.v7build)
		return ops, ok && len(ops) > 0 && m.fits(ops, first, last)
	})
	if !ok {
		return false
	}
	for _, v := range m.touched {
		m.reads[v] = true
	}
	for i := first; i <= last; i++ {
		m.own[i], m.first[i] = nil, first
	}
	for _, o := range ops {
		m.own[first] = append(m.own[first], Task{Layer: l, own: o})
	}
	return true
}

// fits reports whether tasks may stand for layers of the plan: the registers can say them, the numerics allow them, and no
// task writes over what a later one reads.
func (m *v7mix) fits(ops []*units.Op, first, last int) bool {
	for _, o := range ops {
		if m.s.exactFunctions && (o.NonLinear == units.Table || o.Rounded) || m.s.otherCrops && o.Cropped {
			return false
		}
		if _, err := encodeOp(o, 1, 3); err != nil {
			return false
		}
	}
	made := map[*anec.Value]bool{}
	for _, l := range m.layers[first : last+1] {
		for _, v := range l.Tops {
			made[v] = true
		}
	}
	stored := m.readsStored(ops)
	for _, y := range m.touched {
		for _, x := range m.touched {
			if made[y] && !made[x] && m.plan.meet(x, y) && (stored || !m.plan.inPlace(x, y)) {
				return false
			}
		}
	}
	return true
}

// stores reports whether a task stores its result where the plan has values.
func (m *v7mix) stores(o *units.Op) bool {
	r := o.Result
	return r != nil && !r.Backing && (r.Base != hwx.BaseScratch || r.Offset < m.start)
}

// readsStored reports whether a task reads where an earlier one has stored a value of the plan. Tasks that take a value
// piece by piece, and leave each in its place, do not.
func (m *v7mix) readsStored(ops []*units.Op) bool {
	for i, o := range ops {
		if !m.stores(o) {
			continue
		}
		size := o.Out
		if o.Exchange {
			size.C, size.W = size.W, size.C
		}
		lo, hi := o.Result.Hull(size, o.Groups)
		if slices.ContainsFunc(ops[i+1:], func(later *units.Op) bool { return later.Reads(o.Result.Base, lo, hi) }) {
			return true
		}
	}
	return false
}

// dropUnread takes out what is made of constants when the program is loaded, and then read by nobody: the chip's own tasks
// have their weights packed.
func (m *v7mix) dropUnread() {
	needed := map[*anec.Layer]bool{}
	read := func(v *anec.Value) {
		for work := []*anec.Value{v}; len(work) > 0; {
			l := work[len(work)-1].Def
			work = work[:len(work)-1]
			if l == nil || needed[l] {
				continue
			}
			needed[l] = true
			if _, task := m.at[l]; !task {
				work = append(work, l.Bottoms...) // a view, or a concatenation
			}
		}
	}
	for v := range m.reads {
		read(v)
	}
	for i, l := range slices.Backward(m.layers) {
		if _, own := m.own[i]; own {
			continue
		}
		if m.plan.Places[l.Top()].Region == InDerived && !needed[l] {
			m.own[i] = nil
			continue
		}
		for _, v := range l.Reads() {
			read(v)
		}
	}
}
