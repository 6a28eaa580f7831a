package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A reshape of rows with room between them is no view where W changes. It is one copy, of both tensors cut into the pieces
// that they have in common:
//
//	%x [16,32]    rows 64 apart       pieces [16,4,8]    strides  64 16 2
//	%y [16,4,8]   rows 64 apart                          strides 256 64 2

// relayout keeps a reshape that no strides express as a task, if a copy can say it.
func (p *planner) relayout(l *anec.Layer) bool {
	x, ok := p.spots[l.Bottoms[0]]
	if l.Kind() != anec.KindReshape || p.own.Align() == 1 || p.derived[l] || !ok || l.Top().Type.DType.SubByte() {
		return false
	}
	to, _ := p.own.Layout(l.Top().Type)
	if _, _, _, ok := commonPieces(l.Bottoms[0].Type.Dims, x.strides, l.Top().Type.Dims, to); !ok {
		return false
	}
	p.kept[l] = true
	return true
}

// emitRelayout is the copy.
func emitRelayout(l *anec.Layer, place func(*anec.Value) td.Operand) ([]*td.Op, error) {
	x, y := place(l.Bottoms[0]), place(l.Top())
	dims, from, to, ok := commonPieces(x.Dims, x.Strides, y.Dims, y.Strides)
	if !ok {
		return nil, fmt.Errorf("bug: %q has no pieces in common with what it reads", l.Name)
	}
	x.Dims, x.Strides, y.Dims, y.Strides = dims, from, dims, to
	return []*td.Op{{Params: &td.Copy{}, Operands: []td.Operand{y, x}}}, nil
}
