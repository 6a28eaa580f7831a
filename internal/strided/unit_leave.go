package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// leave is the way of a tile from the accumulator to memory, in one pass over it where
// rules leave no NaN: what comes before the limits, if there is anything, then the limits,
// ReLU, rounding and the store. Places lie side by side, or channels do: then the rows of
// the tile become columns.
type leave struct {
	is       bool
	before   *arrayOutput // nil: nothing
	limits   vec.Limits
	relu     bool
	scale    float32
	channels int
	step     int // bytes from place to place; 0: they do not lie at one distance
}

// newLeave is that of an operation whose result has so many channels.
func newLeave(out *arrayOutput, to *mover, channels int) leave {
	l := leave{is: to.halves && to.pass == passNaN, limits: vec.NoLimits, scale: 1, channels: channels}
	l.limits.None = infinity
	if step, flat := to.placeStride(to.dims.extents()); flat && to.interleave == 1 && step > 0 && to.strides[axisC] >= 0 {
		l.step = step
	}
	if out == nil {
		return l
	}
	if port := out.port; out.table != nil || !(out.scale > 0) || port != nil && (port.toZero || port.gain != 0) {
		l.before = out
		return l
	} else if port != nil {
		p := port.limits()
		l.limits.Least, l.limits.Most = p.Least, p.Most
	}
	// What NaN becomes, infinity, is the same after a scale that is positive.
	if l.relu, l.scale = out.relu, out.scale; out.bias != 0 {
		l.before = &arrayOutput{bias: out.bias, scale: 1}
	}
	return l
}

// tile hands on a tile, as movedConv.putTile does.
func (l *leave) tile(w *Scratch, to *mover, tile []float32, stride, rows, cols, first, apart int) {
	if l.before != nil {
		l.before.apply(tile[:(rows-1)*stride+cols])
	}
	f := &w.leave
	*f = vec.Leave{Limits: l.limits, ReLU: l.relu, Scale: l.scale, Tile: tile, Stride: stride, Rows: rows, Cols: cols}
	channel, place := first/apart, first%apart
	at := to.offset + channel/l.channels*to.strides[axisN] + channel%l.channels*to.strides[axisC] + place*l.step
	if l.step == 2 {
		f.Out, f.OutApart = to.memory(w)[at:], to.strides[axisC]
		f.Run()
		return
	}
	for some := len(w.decoded) / 2 / rows; cols > 0; cols -= f.Cols { // by way of the scratch
		f.Cols = min(some, cols)
		f.Out, f.OutApart = w.decoded, 2*f.Cols
		f.Run()
		if l.step > 0 && to.strides[axisC] == 2 {
			half.Transpose(to.memory(w)[at:], l.step, w.decoded, 2*f.Cols, rows, f.Cols)
		} else {
			for r := range rows {
				to.put(w, w.decoded[2*r*f.Cols:][:2*f.Cols], first+r*apart)
			}
		}
		f.Tile, first, at = f.Tile[min(f.Cols, len(f.Tile)):], first+f.Cols, at+f.Cols*l.step
	}
}

// direct reports whether an operand of so many places can be read as it lies, by channels:
// its places lie side by side, or the channels of a place do, and no more is done to them
// than to flush them.
func (m *mover) direct(places int) bool {
	step, flat := m.placeStride(m.dims.extents())
	in := m.strides[axisC]
	if !m.halves || m.interleave != 1 || !flat || m.pass != 0 && m.pass != passNaN|passFlush {
		return false
	}
	return step == 2 && in >= 0 && in%2 == 0 || in == 2 && step >= 0 && step%2 == 0
}
