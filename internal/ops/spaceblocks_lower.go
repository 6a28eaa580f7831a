package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

func (m blockMove) lower(l *Lowering) error {
	n := l.Int(m.factor)
	factors := anec.Factors{X: n, Y: n, Z: 1}
	var p anec.Params
	switch {
	case m.spread && m.blockFirst:
		p = &anec.ChannelToSpace{Factors: factors}
	case m.spread:
		p = &anec.PixelShuffle{Factors: factors}
	case m.blockFirst:
		p = &anec.SpaceToChannel{Factors: factors}
	default:
		p = &anec.PixelUnshuffle{Factors: factors}
	}
	l.Give(0, l.Layer(l.Name(), p, l.In("x")))
	return nil
}

func lowerBatchToSpace(l *Lowering) error {
	block, crops, err := blockAndEdges(l.Call, "crops")
	if err != nil {
		return err
	}
	y := l.Layer(l.Name(), &anec.BatchToSpace{Factors: anec.Factors{X: block[1], Y: block[0], Z: 1}}, l.In("x"))
	out := l.OutDims(0)
	y = l.part(y, anec.H, crops[0], out[anec.H])
	l.Give(0, l.part(y, anec.W, crops[2], out[anec.W]))
	return nil
}

func lowerSpaceToBatch(l *Lowering) error {
	block, pads, err := blockAndEdges(l.Call, "paddings")
	if err != nil {
		return err
	}
	x := l.padded(l.In("x"), &anec.Padding{
		Before: anec.Dims{anec.H: pads[0], anec.W: pads[2]},
		After:  anec.Dims{anec.H: pads[1], anec.W: pads[3]},
		Mode:   td.PadZero,
	})
	l.Give(0, l.Layer(l.Name(), &anec.SpaceToBatch{Factors: anec.Factors{X: block[1], Y: block[0], Z: 1}}, x))
	return nil
}
