package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// foldPadding has convolutions read the zeros about their operand themselves (seed compiler, phase 4):
//
//	%p = anec.pad(%x) {before = [0, 0, 0, 1, 1], after = [0, 0, 0, 1, 1]}      %y = anec.convolution(%x, %w) {kernel_sizes = [3, 3]}
//	%y = anec.convolution(%p, %w) {kernel_sizes = [3, 3]}                       →        PadBefore=[0,1,1] PadAfter=[0,1,1]
//
// It does so for padding with zeros that the convolution alone reads, and that its fields can say.
func foldPadding(s *segment.Segment) error {
	if !keepsOnChip(s) || s.Target.Residency.FoldPadding == 0 {
		return nil
	}
	f := newFusion(s)
	for _, l := range s.Graph.Order() {
		conv, ok := l.Params.(*anec.Conv)
		if !ok || conv.Transposed || conv.PaddingMode != td.PadZero {
			continue
		}
		pad := l.Bottoms[0].Def
		if pad == nil || !f.readBy(l.Bottoms[0], l) || !f.canDelay(pad) || slices.Contains(l.Bottoms[1:], l.Bottoms[0]) {
			continue
		}
		p, ok := pad.Params.(*anec.Padding)
		if !ok || !segment.IsBare(pad) || !padsZeros(p) {
			continue
		}
		before, after, ok := windowPadding(p, conv.Window, s.Target.Residency.FoldPadding)
		if !ok {
			continue
		}
		f.check(s.Graph.Edit(l, func(l *anec.Layer) {
			c := *conv
			c.PadBefore, c.PadAfter = before, after
			l.Params = &c
			l.Bottoms = append([]*anec.Value{pad.Bottoms[0]}, l.Bottoms[1:]...)
			l.Origin = segment.JoinOrigins(pad.Origin, l.Origin)
		}))
		f.discard(pad)
		s.Order = slices.DeleteFunc(s.Order, func(l *anec.Layer) bool { return l == pad })
	}
	s.Graph.Sweep()
	return f.err
}

// padsZeros reports whether what a padding adds is 0.
func padsZeros(p *anec.Padding) bool {
	return p.Mode == td.PadZero || p.Mode == td.PadBackground && p.Value == 0
}

// windowPadding adds padding to that of a window; false if it is along other axes, or more than most.
func windowPadding(p *anec.Padding, w anec.Window, most int) (before, after [3]int, ok bool) {
	before, after = w.PadBefore, w.PadAfter
	rest := *p
	for i, a := range segment.WindowAxes {
		before[i] += p.Before[a]
		after[i] += p.After[a]
		rest.Before[a], rest.After[a] = 0, 0
		if max(before[i], after[i]) > most {
			return before, after, false
		}
	}
	return before, after, rest.Before == anec.Dims{} && rest.After == anec.Dims{}
}
