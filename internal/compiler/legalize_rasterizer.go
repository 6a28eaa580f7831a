package compiler

import "github.com/espalier-ane/espalier/internal/anec"

// legalizeRasterizer unfolds windows by slices: each place in the window is one, and a concatenation by turns puts those of a
// channel side by side. A window of one element is a copy.
//
//	%y = KernelRasterizer(%x) Kernel=[1,2]              %x [1,1,3,4,8]
//
//	%a = InputView(%x) Axis=W Size=7
//	%b = InputView(%x) Axis=W Offset=1 Size=7
//	%y = Concat(%a, %b) Axis=C Interleave=true
var legalizeRasterizer = rewriteKinds(unfoldWindows, anec.KindKernelRasterizer)

func unfoldWindows(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	p, x := l.Params.(*anec.KernelRasterizer), l.Bottoms[0]
	height, width := x.Type.Dims[anec.H]-p.Kernel[0]+1, x.Type.Dims[anec.W]-p.Kernel[1]+1
	if p.Kernel == [2]int{1, 1} {
		return b.Layer(l.Name, &anec.Copy{}, x), nil
	}
	var places []*anec.Value
	for i := range p.Kernel[0] {
		rows := x
		if p.Kernel[0] > 1 {
			rows = b.Layer(l.Name, &anec.InputView{Axis: anec.H, Offset: i, Size: height, Step: 1}, x)
		}
		for j := range p.Kernel[1] {
			place := rows
			if p.Kernel[1] > 1 {
				place = b.Layer(l.Name, &anec.InputView{Axis: anec.W, Offset: j, Size: width, Step: 1}, rows)
			}
			places = append(places, place)
		}
	}
	return b.Layer(l.Name, &anec.Concat{Axis: anec.C, Interleave: true}, places...), nil
}
