package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// inPlace lets tasks write over an operand that nobody reads after them:
//
//	%a = anec.convolution(%x, %w)      %a   0..512              %a, %y   0..512
//	%y = anec.neuron(%a)        %y 512..1024      →
//
// The two must be all that their buffers hold, with the same strides, extents and element size.
func (a *addresses) inPlace() {
	for i, l := range a.Layers {
		y := l.Top()
		at := a.Spots[y]
		if b := at.Buffer; b.Region != segment.InScratch || b.First != i || !at.Fills(y.Type) {
			continue
		}
		for _, x := range l.Reads() {
			from := a.Spots[x].Buffer.Root()
			if from.Region == segment.InScratch && from.Size == at.Buffer.Size && from.Last == i && a.takesOver(l, from) {
				from.Last = at.Buffer.Last
				at.Buffer.Into = from
				break
			}
		}
	}
}

// takesOver reports whether a task may write its first top into a buffer that it reads: all that it reads there
// has to be what the top takes the place of, element by element.
func (a *addresses) takesOver(l *anec.Layer, b *segment.Buffer) bool {
	to := a.Spots[l.Top()]
	own := to.Buffer
	to.Buffer = b
	for _, x := range l.Reads() {
		s := a.Spots[x]
		if s.Buffer = s.Buffer.Root(); s.Buffer != b {
			continue
		}
		if !overwrites(l, x) || !s.Same(to, x.Type.Dims) || !segment.WritesOver(a.Selected[a.StandsFor[l]], a.Spots[x].Buffer, own) {
			return false
		}
	}
	return true
}

// overwrites reports whether a layer may write its first top over a value that it reads, if both lie at one spot:
// the extents and the element size are the same, and each element is read no later than written.
func overwrites(l *anec.Layer, v *anec.Value) bool {
	y, e := l.Top().Type, &l.Epilogue
	if v.Type.Dims != y.Dims || v.Type.DType.Bits() != y.DType.Bits() {
		return false
	}
	if e.Texture != nil || e.Transpose != nil || e.Broadcast != (anec.Dims{}) {
		return false
	}
	for i, bottom := range l.Bottoms {
		if bottom == v && !l.Info().InPlace(l, i) {
			return false
		}
	}
	return true // what the epilogue alone reads may always be written over
}
