package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// Kinds that move elements.

var moveEmitters = map[anec.Kind]emitter{
	anec.KindInputView:        emitInputView,
	anec.KindPadding:          emitPadding,
	anec.KindTile:             emitTile,
	anec.KindDynamicSlice:     emitDynamicSlice,
	anec.KindPixelShuffle:     emitRearrange,
	anec.KindPixelUnshuffle:   emitRearrange,
	anec.KindSpaceToBatch:     emitRearrange,
	anec.KindBatchToSpace:     emitRearrange,
	anec.KindSpaceToChannel:   emitRearrange,
	anec.KindChannelToSpace:   emitRearrange,
	anec.KindRingBufferWriter: emitRingBufferWriter,
}

// emitConcat copies each part to its place. Parts that were written there have gone before.
//
//	y  [ x0 | x1 | x2 ]     along the axis: at the sum of the extents before
//	y  [ x0 x1 x2 x0 x1 …]  interleaved: at the number of the part, with a stride of all
func emitConcat(l *anec.Layer, place func(*anec.Value) td.Operand) ([]*td.Op, error) {
	p := l.Params.(*anec.Concat)
	if !l.Epilogue.Empty() {
		return nil, fmt.Errorf("an epilogue: it belongs to a Copy behind the concatenation")
	}
	y := place(l.Top())
	switch x := l.Bottoms[0].Type.DType; {
	case y.Type.SubByte():
		return nil, fmt.Errorf("parts of %v share bytes", y.Type)
	case x.IsFloat() && y.Type.IsInteger():
		return nil, fmt.Errorf("parts of %v stored as %v: a copy would not round", x, y.Type)
	}
	var ops []*td.Op
	at := int64(0)
	for _, v := range l.Bottoms {
		part := y
		part.Dims = v.Type.Dims
		part.Offset += at * y.Strides[p.Axis]
		if p.Interleave {
			part.Strides[p.Axis] *= int64(len(l.Bottoms))
			at++
		} else {
			at += int64(v.Type.Dims[p.Axis])
		}
		ops = append(ops, &td.Op{Params: &td.Copy{}, Operands: []td.Operand{part, place(v)}})
	}
	return ops, nil
}

// emitInputView stores a part of x anew. As a view, which it is as long as nobody says Crop, it never comes here.
func emitInputView(e *emission) error {
	p := e.Params.(*anec.InputView)
	if err := e.begin(&td.InputView{}, e.bottom(0)); err != nil || p.Size == 0 {
		return err
	}
	x := &e.op.Operands[1]
	x.Offset += int64(p.Offset) * x.Strides[p.Axis]
	x.Strides[p.Axis] *= int64(p.Step)
	x.Dims[p.Axis] = p.Size
	return nil
}

func emitPadding(e *emission) error {
	p := e.Params.(*anec.Padding)
	return e.begin(&td.Padding{Before: p.Before, After: p.After, Mode: p.Mode, Value: p.Value}, e.bottom(0))
}

func emitTile(e *emission) error {
	return e.begin(&td.Tile{Reps: e.Params.(*anec.Tile).Reps}, e.bottom(0))
}

func emitDynamicSlice(e *emission) error {
	p := e.Params.(*anec.DynamicSlice)
	s := &td.DynamicSlice{
		Number: len(p.Axes), Coordinate: p.Coordinate, Padding: p.Padding, Background: p.Background, FromEnd: p.FromEnd,
	}
	copy(s.Axes[:], p.Axes)
	return e.begin(s, e.bottom(0), e.bottom(1))
}

func emitRearrange(e *emission) error {
	var class td.Params
	switch p := e.Params.(type) {
	case *anec.PixelShuffle:
		class = &td.PixelShuffle{Factors: td.Factors(p.Factors)}
	case *anec.PixelUnshuffle:
		class = &td.PixelUnshuffle{Factors: td.Factors(p.Factors)}
	case *anec.SpaceToBatch:
		class = &td.SpaceToBatch{Factors: td.Factors(p.Factors)}
	case *anec.BatchToSpace:
		class = &td.BatchToSpace{Factors: td.Factors(p.Factors)}
	case *anec.SpaceToChannel:
		class = &td.SpaceToChannel{Factors: td.Factors(p.Factors)}
	case *anec.ChannelToSpace:
		class = &td.ChannelToSpace{Factors: td.Factors(p.Factors)}
	}
	return e.begin(class, e.bottom(0))
}

// emitRingBufferWriter counts the numbers of start from 1: 0 is an axis that has none.
func emitRingBufferWriter(e *emission) error {
	p := e.Params.(*anec.RingBufferWriter)
	w := &td.RingBufferWriter{Offset: p.Offset, Circular: p.Circular}
	for i, a := range p.Live {
		w.Live[a] = i + 1
	}
	return e.begin(w, e.bottom(0), e.bottom(1), e.bottom(2))
}
