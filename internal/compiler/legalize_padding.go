package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// legalizePadding puts a layer of its own for padding that a window does not have: the class of a convolution pads
// with zeros, that of a pooling leaves out what is outside.
//
//	%y = anec.convolution(%x, %w) {kernel_sizes = [3, 3], explicit_padding = [1, 1, 1, 1], padding_mode = Reflective}
//
//	%p = anec.pad(%x) {before = [0, 0, 0, 1, 1], after = [0, 0, 0, 1, 1], mode = Reflective}
//	%y = anec.convolution(%p, %w) {kernel_sizes = [3, 3]}
func legalizePadding(s *segment.Segment) error {
	var refused refusals
	for _, l := range s.Graph.Order() {
		var w anec.Window
		var mode td.PaddingMode
		switch p := l.Params.(type) {
		case *anec.Conv:
			if !segment.ConvPadsOtherwise(p) {
				continue
			}
			w, mode = p.Window, p.PaddingMode
		case *anec.Pooling:
			if !segment.PoolPadsOtherwise(p) {
				continue
			}
			if p.ExcludePad {
				refused.add(l, fmt.Errorf("padding mode %v of elements that do not count", p.PaddingMode))
				continue
			}
			w, mode = p.Window, p.PaddingMode
		default:
			continue
		}
		b := &anec.Builder{Graph: s.Graph, Origin: l.Origin}
		padding := &anec.Padding{Mode: mode}
		for i, a := range segment.WindowAxes {
			padding.Before[a], padding.After[a] = w.PadBefore[i], w.PadAfter[i]
		}
		padded := b.Layer(l.Name+"_padded", padding, l.Bottoms[0])
		if err := b.Err(); err != nil {
			refused.add(l, err)
			continue
		}
		refused.add(l, s.Graph.Edit(l, func(l *anec.Layer) {
			l.Bottoms[0] = padded
			w.PadBefore, w.PadAfter = [3]int{}, [3]int{}
			switch p := l.Params.(type) {
			case *anec.Conv:
				plain := *p
				plain.Window, plain.PaddingMode = w, td.PadZero
				l.Params = &plain
			case *anec.Pooling:
				plain := *p
				plain.Window, plain.PaddingMode = w, td.PadZero
				l.Params = &plain
			}
		}))
	}
	return refused.err()
}
