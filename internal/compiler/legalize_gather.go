package compiler

import (
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeGather makes one axis of the several that a gather has, and one number of the indices along C.
//
//	%y = anec.gather(%x, %i) {axes = [H, W]}            %x [n,1,c,h,w], %i [1,1,2,1,k]
//
//	%r = anec.input_view(%i) {axis = C, offset = 0, size = 1}
//	%a = anec.copy(%r) | ew LessThanZero | ew Mult h | ew Add #0 | ew Max 0 | ew Min h-1 | ew NotEqual #3 | ew Mult h | ew Add #5 | ew Mult w
//	%s = anec.input_view(%i) {axis = C, offset = 1, size = 1}
//	%b = anec.copy(%s) | ew LessThanZero | ew Mult w | ew Add #0 | ew Max 0 | ew Min w-1 | ew NotEqual #3 | ew Mult h*w | ew Add #5 | ew Add %a
//	%y = anec.gather(%flat, %b) {axes = [W]}           %flat [n,1,c,1,h*w], a view of %x
//
// The first three steps count a negative index from the end, the next two take the nearest element for what lies outside. Where
// that is another one, so much is added that the sum points outside too: the gather reads 0. All of it is on integers.
var legalizeGather = rewriteKinds(flattenGather, anec.KindGather)

func flattenGather(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	axes := l.Params.(*anec.Gather).Axes
	if len(axes) == 1 {
		return nil, nil
	}
	x, indices := l.Bottoms[0], l.Bottoms[1]
	var flat *anec.Value // the index into all axes at once, with extent 1 along C
	outer := 1           // the places of the axes up to one
	for i, a := range axes {
		inner := 1
		for _, later := range axes[i+1:] {
			inner *= x.Type.Dims[later]
		}
		outer *= x.Type.Dims[a]
		extent := float32(x.Type.Dims[a])
		steps := []anec.Step{
			{Code: td.MicroEW, EW: td.EWLessThanZero}, ewNumber(td.EWMult, extent), {Code: td.MicroEW, EW: td.EWAdd, Earlier: 1},
			ewNumber(td.EWMax, 0), ewNumber(td.EWMin, extent-1),
			{Code: td.MicroEW, EW: td.EWNotEqual, Earlier: 4}, ewNumber(td.EWMult, atLeast(outer)), {Code: td.MicroEW, EW: td.EWAdd, Earlier: 6},
			ewNumber(td.EWMult, float32(inner)),
		}
		if flat != nil {
			steps = append(steps, ewValue(td.EWAdd, flat))
		}
		one := b.Layer(l.Name, &anec.InputView{Axis: anec.C, Offset: i, Size: 1, Step: 1}, indices)
		flat = layerWith(b, tensor.Int32, l.Name, &anec.Copy{}, anec.Epilogue{Steps: steps}, one)
	}
	if flat == nil {
		return nil, b.Err()
	}

	// The axes of the gather go to the end and become W; the others keep their order.
	var perm anec.Perm
	rest := 0
	for a := range td.Axis(anec.NumAxes) {
		if !td.AxesOf(axes...).Has(a) {
			perm[rest] = a
			rest++
		}
	}
	copy(perm[rest:], axes)
	merged := func(v *anec.Value) (*anec.Value, anec.Dims) {
		d := perm.Apply(v.Type.Dims)
		m := anec.Dims{1, 1, 1, 1, 1}
		copy(m[:rest], d[:rest])
		for _, n := range d[rest:] {
			m[anec.W] *= n
		}
		return b.Layer(l.Name, &anec.Reshape{Dims: m}, b.Layer(l.Name, &anec.Transpose{Perm: perm}, v)), d
	}
	data, dims := merged(x)
	at, atDims := merged(flat)
	copy(dims[rest:], atDims[rest:])
	y := b.Layer(l.Name, &anec.Gather{Axes: []td.Axis{anec.W}}, data, at)
	return b.Layer(l.Name, &anec.Transpose{Perm: perm.Inverse()}, b.Layer(l.Name, &anec.Reshape{Dims: dims}, y)), nil
}

// atLeast is a number that is n, or a power of two above it where fp32 has not n.
func atLeast(n int) float32 {
	if n <= 1<<24 {
		return float32(n)
	}
	return float32(math.Exp2(math.Ceil(math.Log2(float64(n)))))
}
