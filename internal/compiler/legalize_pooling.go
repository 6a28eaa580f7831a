package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// legalizePooling writes the poolings over channels, and those that give places, as kinds that have them.
//
//	%y = anec.pooling(%x) {kernel_sizes = [2, 2], type = SpatialAndChannelMax}
//
//	%p = anec.max_pool(%x) {kernel_sizes = [2, 2]}
//	%y = anec.reduce_max(%p) {axes = C}
var legalizePooling = rewriteKinds(splitPooling, anec.KindPooling)

// channelPoolings are the kinds that make one value of all channels: of a window first, where it has a kind.
var channelPoolings = map[td.PoolKind]struct {
	window   td.PoolKind // 0: at a position
	channels td.ReductionKind
}{
	td.PoolChannelMax:           {0, td.ReduceMax},
	td.PoolChannelMin:           {0, td.ReduceMin},
	td.PoolSpatialAndChannelAvg: {td.PoolAvg, td.ReduceAvg},
	td.PoolSpatialAndChannelMax: {td.PoolMax, td.ReduceMax},
	td.PoolSpatialAndChannelMin: {td.PoolMin, td.ReduceMin},
}

// argPoolings are the kinds that give a place.
var argPoolings = map[td.PoolKind]td.ArgMode{
	td.PoolSpatialArgMax: td.SpatialArgMax, td.PoolSpatialArgMin: td.SpatialArgMin,
	td.PoolChannelArgMax: td.ChannelArgMax, td.PoolChannelArgMin: td.ChannelArgMin,
}

func splitPooling(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	p, x := l.Params.(*anec.Pooling), l.Bottoms[0]
	if mode, ok := argPoolings[p.Type]; ok {
		return b.Layer(l.Name, &anec.ArgMinMax{Window: p.Window, Mode: mode}, x), nil
	}
	row, ok := channelPoolings[p.Type]
	if !ok {
		return nil, nil
	}
	if row.window != 0 {
		window := *p
		window.Type = row.window
		x = layerAs(b, between(x.Type.DType), l.Name, &window, x)
	}
	return layerAs(b, l.Bottoms[0].Type.DType, l.Name, &anec.Reduction{Type: row.channels, Axes: td.AxesOf(anec.C)}, x), nil
}
