package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// emitRelayout is the copy.
func emitRelayout(l *anec.Layer, place func(*anec.Value) td.Operand) ([]*td.Op, error) {
	x, y := place(l.Bottoms[0]), place(l.Top())
	dims, from, to, ok := segment.CommonPieces(x.Dims, x.Strides, y.Dims, y.Strides)
	if !ok {
		return nil, fmt.Errorf("bug: %q has no pieces in common with what it reads", l.Name)
	}
	x.Dims, x.Strides, y.Dims, y.Strides = dims, from, dims, to
	return []*td.Op{{Params: &td.Copy{}, Operands: []td.Operand{y, x}}}, nil
}
