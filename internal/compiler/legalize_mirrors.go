package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// legalizeMirrors joins the elements that a padding mirrors, where the target has no engine that does (guide A, pad; guide B:
// concatenate reversed parts).
//
//	%y = anec.pad(%x) {before = [0, 0, 0, 2, 0], after = [0, 0, 0, 2, 0], mode = Reflective} : fp16[1,1,3,8,4]       %x [1,1,3,4,4]
//
//	%a = anec.input_view(%x) {axis = H, offset = 2, size = 1} : fp16[1,1,3,1,4]
//	%b = anec.input_view(%x) {axis = H, offset = 1, size = 1} : fp16[1,1,3,1,4]
//	%c = anec.input_view(%x) {axis = H, offset = 2, size = 1} : fp16[1,1,3,1,4]
//	%d = anec.input_view(%x) {axis = H, offset = 1, size = 1} : fp16[1,1,3,1,4]
//	%y = anec.concat(%a, %b, %x, %c, %d) {axis = H}
//
// W is exchanged for H before, and back: a slice that begins inside of a row is no view on every chip.
func legalizeMirrors(s *segment.Segment) error {
	if s.Target.Has(hal.CapTexture) {
		return nil
	}
	return rewriteKinds(mirroredParts, anec.KindPadding)(s)
}

// mostMirrored is how many elements of a side are joined one by one. More come from all of the axis reversed: it has no view
// of a part that is.
const mostMirrored = 8

func mirroredParts(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	p, x := l.Params.(*anec.Padding), l.Bottoms[0]
	if p.Mode != td.PadReflective && p.Mode != td.PadSymmetric {
		return nil, nil
	}
	for a := range anec.H {
		if p.Before[a]+p.After[a] > 0 {
			return nil, nil
		}
	}
	if p.Before == (anec.Dims{}) && p.After == (anec.Dims{}) {
		return nil, nil
	}
	exchange := &anec.Transpose{Perm: segment.Exchange(anec.H, anec.W)}
	for _, a := range []td.Axis{anec.H, anec.W} {
		if p.Before[a]+p.After[a] == 0 || b.Err() != nil {
			continue
		}
		if a == anec.W {
			x = b.Layer(l.Name, exchange, x)
		}
		x = mirroredRows(b, l.Name, x, p.Mode, p.Before[a], p.After[a])
		if a == anec.W {
			x = b.Layer(l.Name, exchange, x)
		}
	}
	return x, b.Err()
}

// mirroredRows is a value with rows of it about it. Reflective leaves out the row that it mirrors at.
func mirroredRows(b *anec.Builder, name string, x *anec.Value, mode td.PaddingMode, before, after int) *anec.Value {
	if b.Err() != nil {
		return nil
	}
	n, skip := x.Type.Dims[anec.H], 0
	if mode == td.PadReflective {
		skip = 1
	}
	var mirrored *anec.Value                               // all rows, the last first
	rows := func(begin, count int) (parts []*anec.Value) { // of the mirrored ones
		if count > mostMirrored {
			if mirrored == nil {
				mirrored = b.Layer(name, &anec.InputView{Axis: anec.H, Offset: n - 1, Size: n, Step: -1}, x)
			}
			return append(parts, b.Layer(name, &anec.InputView{Axis: anec.H, Offset: begin, Size: count, Step: 1}, mirrored))
		}
		for i := range count {
			parts = append(parts, b.Layer(name, &anec.InputView{Axis: anec.H, Offset: n - 1 - begin - i, Size: 1, Step: 1}, x))
		}
		return parts
	}
	parts := rows(n-skip-before, before)
	parts = append(parts, x)
	return b.Layer(name, &anec.Concat{Axis: anec.H}, append(parts, rows(skip, after)...)...)
}
