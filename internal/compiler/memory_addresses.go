package compiler

import "github.com/espalier-ane/espalier/internal/anec"

// giveAddresses says where each buffer lies: over one that ends there, or beside those that are needed at the same time.
//
//	%a  buffer 4 + 0       scratch 0
//	%b  buffer 5 + 0  →    scratch 512
//	%c  buffer 6 + 0       scratch 0      %a is no longer needed
//
// What the tasks of a layer keep between them lies behind all that.
func giveAddresses(s *Segment) error {
	if s.alone {
		return nil
	}
	a := &addresses{s.Layout, s}
	a.touch()
	a.inPlace()
	plan := &Plan{Ports: a.Ports, Layers: a.Layers, Constants: joined(a.Constants), Places: map[*anec.Value]Place{}}
	plan.Scratch, plan.ScratchSum = assignScratch(a.Buffers)
	for _, b := range a.Buffers {
		if b.region == InDerived && b.first >= 0 {
			b.offset = plan.Derived
			plan.Derived = aligned(plan.Derived + b.size)
		}
	}
	for v, at := range a.Spots {
		b := at.buffer.root()
		plan.Places[v] = Place{Region: b.region, Port: b.port, Offset: b.offset + at.offset, Strides: at.strides}
	}
	s.Plan = plan
	return nil
}

// isTogether reports whether two layers are taken as one.
func (a *addresses) isTogether(x, y *anec.Layer) bool {
	return x != nil && a.StandsFor[x] == a.StandsFor[y]
}

// addresses is a layout that gets them.
type addresses struct {
	*Layout
	*Segment
}

// touch finds the tasks that touch each buffer first and last.
func (a *addresses) touch() {
	for i, l := range a.Layers {
		for _, v := range l.Reads() {
			a.Spots[v].buffer.root().touch(i)
		}
		for _, v := range l.Tops {
			a.Spots[v].buffer.root().touch(i)
		}
		// The tasks of layers that are taken as one read what the first of them reads while the last is written.
		for _, v := range a.Touched[a.StandsFor[l]] {
			if at := a.Spots[v].buffer; at.first >= 0 && at.first < i && !a.isTogether(v.Def, l) {
				at.touch(i)
			}
		}
	}
}
