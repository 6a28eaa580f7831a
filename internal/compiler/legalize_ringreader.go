package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeRingReader reads a window of a state axis by axis: where its place is known and it does not leave the
// state, as a view, else by indices.
//
//	%y = anec.ring_buffer_reader(%s, %start) {size = [1, 1, 1, 2, 4], circular = H, live = [H]}      %s [1,1,1,8,6]
//
//	%a = anec.input_view(%s) {axis = W, offset = 0, size = 4}
//	%i = anec.add(%start, (0,1)) | ew Mod 8
//	%y = anec.gather(%a, %i) {axes = [H]}
//
// An axis that is not circular has, in place of Mod, a negative place counted from the end and the window moved
// inside, as the writer does.
var legalizeRingReader = rewriteKinds(readRing, anec.KindRingBufferReader)

func readRing(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	p, y := l.Params.(*anec.RingBufferReader), l.Bottoms[0]
	state := y.Type.Dims
	for i := range p.Size {
		a, offset, size, extent := td.Axis(i), p.Offset[i], p.Size[i], state[i]
		live := slices.Index(p.Live, a)
		if live < 0 && offset+size <= extent {
			if size != extent {
				y = b.Layer(l.Name, &anec.InputView{Axis: a, Offset: offset, Size: size, Step: 1}, y)
			}
			continue
		}
		places := make([]int64, size)
		for j := range places {
			places[j] = int64(j)
			if p.Circular.Has(a) {
				places[j] = int64((offset + j) % max(extent, 1))
			}
		}
		shape := anec.Dims{1, 1, 1, 1, 1}.With(a, size)
		at := b.Constant(l.Name+"_places", anec.ConstantOf(tensor.FromInt64s(tensor.Int32, places, shape[:]...)))
		if live >= 0 {
			at = livePlaces(b, l, at, live, a)
		}
		y = b.Layer(l.Name, &anec.Gather{Axes: []td.Axis{a}}, y, at)
	}
	return y, nil
}

// livePlaces adds a number of start to the places of a window.
func livePlaces(b *anec.Builder, l *anec.Layer, places *anec.Value, number int, a td.Axis) *anec.Value {
	p := l.Params.(*anec.RingBufferReader)
	extent, size := l.Bottoms[0].Type.Dims[a], p.Size[a]
	begin := b.Layer(l.Name, &anec.InputView{Axis: anec.W, Offset: number, Size: 1, Step: 1}, l.Bottoms[1])
	add := &anec.ElementWise{Type: td.EWAdd}
	if p.Circular.Has(a) {
		return layerWith(b, tensor.Int32, l.Name, add, anec.Epilogue{Steps: []anec.Step{ewNumber(td.EWMod, float32(extent))}}, places, begin)
	}
	inside := []anec.Step{
		ewNumber(td.EWAdd, float32(p.Offset[a])),
		{Code: td.MicroEW, EW: td.EWLessThanZero}, ewNumber(td.EWMult, float32(extent)), {Code: td.MicroEW, EW: td.EWAdd, Earlier: 2},
		ewNumber(td.EWMax, 0), ewNumber(td.EWMin, float32(extent-size)),
	}
	begin = layerWith(b, tensor.Int32, l.Name, &anec.Copy{}, anec.Epilogue{Steps: inside}, begin)
	return layerAs(b, tensor.Int32, l.Name, add, places, begin)
}
