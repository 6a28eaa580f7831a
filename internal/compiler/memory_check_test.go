package compiler

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// A replay runs a plan without computing: each byte of memory holds a mark that says whose byte it is, of which
// element. What a task reads must be what the graph says that it reads. It shares no code with the planner but
// overwrites, which is the engine's rule.
type replay struct {
	graph  *anec.Graph
	plan   *segment.Plan
	marks  map[*anec.Value][]uint64
	memory map[segment.Place][]uint64 // by region and port
}

// contents returns the marks of the bytes of each value, by what the graph says, not by where they lie.
func contents(g *anec.Graph) map[*anec.Value][]uint64 {
	marks := map[*anec.Value][]uint64{}
	fresh := func(v *anec.Value) {
		bytes, _ := v.Type.Bytes()
		m := make([]uint64, bytes)
		for i := range m {
			m[i] = uint64(v.ID)<<32 | uint64(i) | 1<<62
		}
		if v.Const != nil {
			for i, b := range v.Const.Stored.Bytes() {
				m[i] = 1<<63 | uint64(b)
			}
		}
		marks[v] = m
	}
	for _, v := range g.Values {
		if v.Def == nil {
			fresh(v)
		}
	}
	for _, l := range g.Order() {
		var x func(int, anec.Dims) (int, anec.Dims) // which element of which bottom an element is
		switch p := l.Params.(type) {
		case *anec.Reshape:
			x = func(i int, _ anec.Dims) (int, anec.Dims) { return 0, position(i, l.Bottoms[0].Type.Dims) }
		case *anec.Flatten:
			x = func(i int, _ anec.Dims) (int, anec.Dims) {
				from := l.Bottoms[0].Type.Dims
				if p.Order == anec.FlattenNCHW {
					return 0, position(i, from)
				}
				at := position(i, anec.Dims{from[0], 1, from[3], from[4], from[2]})
				return 0, anec.Dims{at[0], 0, at[4], at[2], at[3]}
			}
		case *anec.Transpose:
			x = func(_ int, at anec.Dims) (_ int, from anec.Dims) {
				for i, a := range p.Perm {
					from[a] = at[i]
				}
				return 0, from
			}
		case *anec.InputView:
			x = func(_ int, at anec.Dims) (int, anec.Dims) {
				return 0, at.With(p.Axis, p.Offset+p.Step*at[p.Axis])
			}
		case *anec.Broadcast:
			x = func(_ int, at anec.Dims) (int, anec.Dims) {
				for a, n := range l.Bottoms[0].Type.Dims {
					at[a] = min(at[a], n-1)
				}
				return 0, at
			}
		case *anec.Copy:
			x = func(_ int, at anec.Dims) (int, anec.Dims) { return 0, at }
		case *anec.Concat:
			x = func(_ int, at anec.Dims) (int, anec.Dims) {
				if p.Interleave {
					n := len(l.Bottoms)
					return at[p.Axis] % n, at.With(p.Axis, at[p.Axis]/n)
				}
				part := 0
				for at[p.Axis] >= l.Bottoms[part].Type.Dims[p.Axis] {
					at[p.Axis] -= l.Bottoms[part].Type.Dims[p.Axis]
					part++
				}
				return part, at
			}
		}
		if x == nil || !l.Epilogue.Empty() || l.Top().Type.DType != l.Bottoms[0].Type.DType {
			for _, v := range l.Tops {
				fresh(v)
			}
			continue
		}
		y := l.Top()
		if y.Type.DType.SubByte() { // no view changes their order
			marks[y] = marks[l.Bottoms[0]]
			continue
		}
		size, count := y.Type.DType.Size(), elements(y.Type.Dims)
		m := make([]uint64, 0, size*count)
		for i := range count {
			part, from := x(i, position(i, y.Type.Dims))
			at := index(from, l.Bottoms[part].Type.Dims) * size
			m = append(m, marks[l.Bottoms[part]][at:at+size]...)
		}
		marks[y] = m
	}
	return marks
}

func elements(d anec.Dims) int { n, _ := d.Count(); return n }

// position returns the coordinates of element i.
func position(i int, d anec.Dims) (at anec.Dims) {
	for a := len(d) - 1; a >= 0; a-- {
		at[a] = i % d[a]
		i /= d[a]
	}
	return at
}

// index is the inverse.
func index(at, d anec.Dims) int {
	i := 0
	for a := range d {
		i = i*d[a] + at[a]
	}
	return i
}

// ends are the marks that must be in the memory of the caller in the end: outputs, then states.
func ends(g *anec.Graph) (marks [][]uint64) {
	c := contents(g)
	for _, v := range g.Outputs {
		marks = append(marks, c[v])
	}
	for _, s := range g.States {
		marks = append(marks, c[s.After])
	}
	return marks
}

// checkPlan replays a plan. want is what ends gave for the graph before it was planned.
func checkPlan(s *segment.Segment, want [][]uint64) error {
	r := &replay{graph: s.Graph, plan: s.Plan, marks: contents(s.Graph), memory: map[segment.Place][]uint64{}}
	r.memory[segment.Place{Region: segment.InScratch}] = make([]uint64, s.Plan.Scratch)
	r.memory[segment.Place{Region: segment.InDerived}] = make([]uint64, s.Plan.Derived)
	for _, c := range []struct {
		region segment.Region
		bytes  []byte
	}{{segment.InConstants, s.Plan.Constants}, {segment.InWeights, s.Weights}} {
		m := make([]uint64, len(c.bytes))
		for i, b := range c.bytes {
			m[i] = 1<<63 | uint64(b)
		}
		r.memory[segment.Place{Region: c.region}] = m
	}
	states := map[*anec.Value]*anec.State{}
	for _, st := range s.Graph.States {
		states[st.Before] = st
	}
	var outputs, left []segment.Place
	for i, p := range s.Plan.Ports {
		bytes, _ := p.Value.Type.Bytes()
		m := make([]uint64, bytes)
		if p.In {
			copy(m, r.marks[p.Value])
		}
		at := segment.Place{Region: segment.InPort, Port: i}
		r.memory[at] = m
		switch {
		case states[p.Value] != nil:
			left = append(left, at)
		case p.Out:
			outputs = append(outputs, at)
		}
	}
	for i, l := range s.Plan.Layers {
		if err := r.task(l); err != nil {
			return fmt.Errorf("task %d, %s: %w", i, l.Name, err)
		}
	}
	for i, at := range append(outputs, left...) {
		for b, mark := range r.memory[at] {
			if mark != want[i][b] {
				return fmt.Errorf("byte %d of port %d holds %x, want %x", b, at.Port, mark, want[i][b])
			}
		}
	}
	return nil
}

// each calls f with the first byte of each element, in order; with each byte, where elements share them.
func each(p segment.Place, t anec.Type, f func(i int, at int64)) {
	if t.DType.SubByte() {
		bytes, _ := t.Bytes()
		for i := range bytes {
			f(i, p.Offset+int64(i))
		}
		return
	}
	for i := range elements(t.Dims) {
		at := p.Offset
		for a, n := range position(i, t.Dims) {
			at += int64(n) * p.Strides[a]
		}
		f(i, at)
	}
}

func (r *replay) task(l *anec.Layer) error {
	derived := r.plan.Places[l.Top()].Region == segment.InDerived
	touched := map[*anec.Value]map[int64]bool{}
	touch := func(v *anec.Value, f func(at int64, mark *uint64, want uint64) error) (err error) {
		p, ok := r.plan.Places[v]
		if !ok {
			return fmt.Errorf("%q has no place", v.Name)
		}
		memory := r.memory[segment.Place{Region: p.Region, Port: p.Port}]
		bytes := map[int64]bool{}
		size := max(v.Type.DType.Size(), 1)
		each(p, v.Type, func(i int, at int64) {
			for b := range size {
				at := at + int64(b)
				if at < 0 || at >= int64(len(memory)) {
					err = fmt.Errorf("%q: byte %d is outside %v", v.Name, at, p.Region)
					return
				}
				if err == nil {
					err = f(at, &memory[at], r.marks[v][i*size+b])
				}
				bytes[at] = true
			}
		})
		touched[v] = bytes
		return err
	}
	for _, v := range l.Reads() {
		if region := r.plan.Places[v].Region; derived && region != segment.InDerived && region != segment.InConstants && region != segment.InWeights {
			return fmt.Errorf("runs once and reads %q, which lies in %v", v.Name, region)
		}
		err := touch(v, func(at int64, mark *uint64, want uint64) error {
			if *mark != want {
				return fmt.Errorf("reads byte %d of %q: it holds %x, want %x", at, v.Name, *mark, want)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	reads := touched
	for i, v := range l.Tops {
		p := r.plan.Places[v]
		if p.Region == segment.InConstants || p.Region == segment.InWeights || p.Region == segment.InPort && !r.plan.Ports[p.Port].Out || (p.Region == segment.InDerived) != derived {
			return fmt.Errorf("writes %q in %v", v.Name, p.At())
		}
		written := map[int64]bool{}
		err := touch(v, func(at int64, mark *uint64, want uint64) error {
			if written[at] {
				return fmt.Errorf("elements of %q overlap", v.Name)
			}
			written[at] = true
			*mark = want
			return nil
		})
		if err != nil {
			return err
		}
		for _, x := range append(l.Reads(), l.Tops[:i]...) {
			q := r.plan.Places[x]
			if q.Region != p.Region || q.Port != p.Port {
				continue
			}
			for at := range written {
				if reads[x][at] && !(i == 0 && x.Def != l && overwrites(l, x) && samePlace(p, q, v.Type.Dims)) {
					return fmt.Errorf("%q overlaps %q", v.Name, x.Name)
				}
			}
		}
	}
	return nil
}

func samePlace(p, q segment.Place, dims anec.Dims) bool {
	for a, n := range dims {
		if n > 1 && p.Strides[a] != q.Strides[a] {
			return false
		}
	}
	return p.Offset == q.Offset
}

// planMemory says where everything lies.
func planMemory(s *segment.Segment) error {
	if err := layoutValues(s); err != nil {
		return err
	}
	return giveAddresses(s)
}

// plan takes a graph through schedule and memory, and replays the plan.
func plan(t testing.TB, g *anec.Graph, weights []byte) *segment.Segment {
	t.Helper()
	want := ends(g)
	s := &segment.Segment{Name: g.Name, Target: virtual(t), Graph: g, Weights: weights}
	if err := schedule(s); err != nil {
		t.Fatal(err)
	}
	if err := planMemory(s); err != nil {
		t.Fatal(err)
	}
	if err := anec.Verify(g); err != nil {
		t.Fatalf("%v\n%s", err, anec.Print(g))
	}
	if err := checkPlan(s, want); err != nil {
		t.Fatalf("%v\n%s%s", err, anec.Print(g), segment.MemoryText(s))
	}
	return s
}

var axes = []td.Axis{anec.N, anec.D, anec.C, anec.H, anec.W}
