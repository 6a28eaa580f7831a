package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// MatMul multiplies matrices: rows along H, columns along W. N, D and C are
// batch axes, along which x and z broadcast. A transpose says that the operand
// is stored with rows and columns exchanged.
//
// Apple's unit has the rows along C and the columns along W (guide 22: out
// channels = channels(A), width(A) = channels(B)): a netplist is read and
// written with the axes exchanged.
type MatMul struct {
	TransposeX bool `anec:"transpose_lhs"`
	TransposeZ bool `anec:"transpose_rhs"`
}

var matMulInfo = KindInfo{
	Kind: KindMatMul, Name: "MatrixMultiplication", Dialect: Dialect{Name: "matmul"}, Standing: Descriptor, Desc: "MatrixMult", Class: td.ClassMatrixMultiplication,
	Sources: "export desc unit 22 26", Unsure: "its keys",
	New: func() Params { return &MatMul{} }, Contract: contract("y", "x z"),
	Example: Example{"", "fp16[1,1,1,16,64] fp16[1,1,1,64,32]"},

	Pattern: Pattern{2, 2, "Matrix mult. layer can only have two bottoms", "guide 22"}, Check: validateMatMul,

	Unit: OnArray, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: matMulRows, AtLoad: always, Cost: Cost{FLOPs: matMulFLOPs},
}

func (*MatMul) Info() *KindInfo { return &matMulInfo }

var batchAxes = td.AxesOf(N, D, C)

func (p *MatMul) infer(o *operands) ([]Type, error) {
	y, err := o.meet(batchAxes, 0, 1)
	if err != nil {
		return nil, err
	}
	x, z := o.dims(0), o.dims(1)
	rows, inner := x[H], x[W]
	if p.TransposeX {
		rows, inner = inner, rows
	}
	innerZ, columns := z[H], z[W]
	if p.TransposeZ {
		innerZ, columns = columns, innerZ
	}
	if inner != innerZ {
		return nil, fmt.Errorf("x has %d columns, z %d rows", inner, innerZ)
	}
	y[H], y[W] = rows, columns
	return one(o.types[0].DType, y)
}

// matMulRows: the rows of the result are those of x.
func matMulRows(l *Layer, v *Value, tile int) int {
	if l.Params.(*MatMul).TransposeX {
		return v.Type.Dims[H]
	}
	return firstSameRows(l, v, tile)
}

// matMulFLOPs takes the extents of the product, not of the top, which an epilogue may broadcast.
func matMulFLOPs(l *Layer) float64 {
	p := l.Params.(*MatMul)
	x, z := l.Bottoms[0].Type.Dims, l.Bottoms[1].Type.Dims
	rows, inner, columns := x[H], x[W], z[W]
	if p.TransposeX {
		rows, inner = inner, rows
	}
	if p.TransposeZ {
		columns = z[H]
	}
	batch := 1.0
	for _, a := range []td.Axis{N, D, C} {
		batch *= float64(max(x[a], z[a]))
	}
	return 2 * batch * float64(rows) * float64(inner) * float64(columns) * nonZero(l.Bottoms[1])
}

// Linear multiplies the vectors along an axis of x with a matrix and adds a
// bias. w has an output along each row (H) and an input along each column (W);
// bias has the outputs along the axis.
//
// Netplists have the weights in Params, like Conv.
type Linear struct {
	Axis td.Axis `net:"Dimension?"`
}

var linearInfo = KindInfo{
	Kind: KindLinear, Name: "Linear", Dialect: Dialect{Name: "linear"}, Standing: Descriptor, Desc: "Linear", Class: td.ClassLinear,
	Sources: "export desc B", Unsure: "its key",
	New: func() Params { return &Linear{Axis: W} }, Contract: contract("y", "x w~ bias?~"),
	Example: Example{"", "fp16[1,1,1,16,64] !fp16[1,1,1,32,64]"},

	Pattern: Pattern{1, 1, "Linear layer must have only one single input.", fromGates}, Check: validateLinear,

	Unit: OnArray, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: firstSameRows, AtLoad: always, Cost: Cost{FLOPs: linearFLOPs},
}

func (*Linear) Info() *KindInfo { return &linearInfo }

func (p *Linear) infer(o *operands) ([]Type, error) {
	if err := checkAxis(p.Axis); err != nil {
		return nil, err
	}
	x, w := o.dims(0), o.dims(1)
	if err := o.want(1, Dims{1, 1, 1, w[H], x[p.Axis]}); err != nil {
		return nil, err
	}
	if err := o.want(2, Dims{1, 1, 1, 1, 1}.With(p.Axis, w[H])); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, x.With(p.Axis, w[H]))
}

func checkAxis(axes ...td.Axis) error {
	for _, a := range axes {
		if a >= NumAxes {
			return fmt.Errorf("%v, want one of N, D, C, H, W", a)
		}
	}
	return nil
}

func checkAxes(axes td.Axes) error {
	if axes == 0 || axes&^allAxes != 0 {
		return fmt.Errorf("axes %#b: want at least one of N, D, C, H, W", uint8(axes))
	}
	return nil
}

func linearFLOPs(l *Layer) float64 {
	return 2 * l.Bottoms[0].Type.Dims.Elements() * float64(l.Bottoms[1].Type.Dims[H]) * nonZero(l.Bottoms[1])
}
