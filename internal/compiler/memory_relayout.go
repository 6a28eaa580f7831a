package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A reshape of rows with room between them is no view where W changes. It is one copy, of both tensors cut into the pieces
// that they have in common:
//
//	%x [16,32]    rows 64 apart       pieces [16,4,8]    strides  64 16 2
//	%y [16,4,8]   rows 64 apart                          strides 256 64 2

// relayout keeps a reshape that no strides express as a task, if a copy can say it.
func (p *planner) relayout(l *anec.Layer) bool {
	x, ok := p.spots[l.Bottoms[0]]
	if l.Kind() != anec.KindReshape || p.native.Align() == 1 || p.derived[l] || !ok || l.Top().Type.DType.SubByte() {
		return false
	}
	to, _ := p.native.Layout(l.Top().Type)
	if _, _, _, ok := segment.CommonPieces(l.Bottoms[0].Type.Dims, x.Strides, l.Top().Type.Dims, to); !ok {
		return false
	}
	p.kept[l] = true
	return true
}
