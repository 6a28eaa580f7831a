package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// giveAddresses says where each buffer lies: over one that ends there, or beside those that are needed at the same time.
//
//	%a  buffer 4 + 0       scratch 0
//	%b  buffer 5 + 0  →    scratch 512
//	%c  buffer 6 + 0       scratch 0      %a is no longer needed
//
// What the tasks of a layer keep between them lies behind all that.
func giveAddresses(s *segment.Segment) error {
	if s.Alone {
		return nil
	}
	a := &addresses{s.Layout, s}
	a.touch()
	a.inPlace()
	plan := &segment.Plan{Ports: a.Ports, Layers: a.Layers, Constants: joined(a.Constants), Places: map[*anec.Value]segment.Place{}}
	plan.Scratch, plan.ScratchSum = assignScratch(a.Buffers)
	for _, b := range a.Buffers {
		if b.Region == segment.InDerived && b.First >= 0 {
			b.Offset = plan.Derived
			plan.Derived = segment.Aligned(plan.Derived + b.Size)
		}
	}
	for v, at := range a.Spots {
		b := at.Buffer.Root()
		plan.Places[v] = segment.Place{Region: b.Region, Port: b.Port, Offset: b.Offset + at.Offset, Strides: at.Strides}
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
	*segment.Layout
	*segment.Segment
}

// touch finds the tasks that touch each buffer first and last.
func (a *addresses) touch() {
	for i, l := range a.Layers {
		for _, v := range l.Reads() {
			a.Spots[v].Buffer.Root().Touch(i)
		}
		for _, v := range l.Tops {
			a.Spots[v].Buffer.Root().Touch(i)
		}
		// The tasks of layers that are taken as one read what the first of them reads while the last is written.
		for _, v := range a.Touched[a.StandsFor[l]] {
			if at := a.Spots[v].Buffer; at.First >= 0 && at.First < i && !a.isTogether(v.Def, l) {
				at.Touch(i)
			}
		}
	}
}
