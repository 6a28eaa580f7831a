package ops

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var matmulOps = []Def{
	{
		Name: "linear",
		Doc:  "x times the transpose of a weight matrix, plus a bias",
		Versions: []Version{
			{Since: IOS15, Params: []Param{In("x", Number).As("T"), Const("weight", Number).As("T"), OptConst("bias", Number, nil).As("T")}},
			{Since: IOS17, Params: []Param{In("x", Number).As("T"), Const("weight", Number).As("U"), OptConst("bias", Number, nil).As("U")}},
		},
		Infer: inferLinear,
		Eval:  evalLinear,
		Lower: lowerLinear,
	},
	{
		Name: "matmul",
		Doc:  "matrix product over the last two axes, the others broadcast",
		Versions: []Version{
			{Since: IOS15, Params: []Param{In("x", Number).As("T"), In("y", Number).As("T"),
				OptConst("transpose_x", B, false), OptConst("transpose_y", B, false)}},
			{Since: IOS17, Params: []Param{In("x", Number).As("T"), In("y", Number).As("U"),
				OptConst("transpose_x", B, false), OptConst("transpose_y", B, false)}},
		},
		Infer: inferMatmul,
		Eval:  evalMatmul,
		Lower: lowerMatmul,
	},
}

func inferLinear(c *Call) ([]mil.Type, error) {
	x, w := c.Shape("x"), c.Shape("weight")
	if len(x) == 0 {
		return nil, errors.New("x is a scalar, expected rank 1 or more")
	}
	if len(w) != 2 {
		return nil, fmt.Errorf("weight has shape %v, expected [outputs, inputs]", w)
	}
	last := len(x) - 1
	if x[last].Known() && w[1].Known() && x[last] != w[1] {
		return nil, fmt.Errorf("weight is for %v inputs, but the last axis of x, %v, has %v", w[1], x, x[last])
	}
	if err := checkBias(c, w[0]); err != nil {
		return nil, err
	}
	return one(c.DType("x"), append(append(tensor.Shape{}, x[:last]...), w[0]))
}

func evalLinear(c *Call) error {
	w := c.Tensor("weight").Shape()
	n, k := w[0], w[1]
	m := 0
	if n > 0 {
		m = c.OutLen(0) / n
	}
	if c.Tensor("x").DType().IsFloat() || c.Tensor("weight").DType().IsFloat() {
		out := make([]float32, m*n)
		if c.Has("bias") {
			bias := c.Floats("bias")
			for i := range m {
				copy(out[i*n:], bias)
			}
		}
		gemm(c.halt, m, n, k, matrix{c.Floats("x"), k, 1}, matrix{c.Floats("weight"), 1, k}, out)
		c.Return(0, tensor.Of(out, c.OutShape(0)...))
		return nil
	}
	out := make([]int64, m*n)
	if c.Has("bias") {
		bias := c.Int64s("bias")
		for i := range out {
			out[i] = bias[i%n]
		}
	}
	gemmInts(c.halt, m, n, k, intMatrix{c.Int64s("x"), k, 1}, intMatrix{c.Int64s("weight"), 1, k}, out)
	c.ReturnInts(0, out)
	return nil
}

// matrixProduct is the shapes of a matrix product.
type matrixProduct struct {
	x, y, out tensor.Shape // x and y with their matrices as multiplied: rank 2 or more, not transposed
	rowGone   bool         // x has rank 1: the result has no axis of rows
	colGone   bool         // y has rank 1: the result has no axis of columns
}

func (c *Call) matrixProduct() (p matrixProduct, err error) {
	if p.x, p.rowGone, err = c.factor("x", "transpose_x"); err != nil {
		return p, err
	}
	if p.y, p.colGone, err = c.factor("y", "transpose_y"); err != nil {
		return p, err
	}
	if p.rowGone {
		p.x = tensor.Shape{1, p.x[0]}
	}
	if p.colGone {
		p.y = tensor.Shape{p.y[0], 1}
	}
	bx, by := len(p.x)-2, len(p.y)-2
	inner, other := p.x[bx+1], p.y[by]
	if inner.Known() && other.Known() && inner != other {
		return p, fmt.Errorf("x %v and y %v do not multiply: the inner lengths are %v and %v", c.Shape("x"), c.Shape("y"), inner, other)
	}
	if p.out, err = tensor.Broadcast(p.x[:bx], p.y[:by]); err != nil {
		return p, fmt.Errorf("x %v and y %v: their batches: %w", c.Shape("x"), c.Shape("y"), err)
	}
	p.out = append(p.out, p.x[bx], p.y[by+1])
	return p, nil
}

// factor is the shape of an argument, transposed if so asked, and whether it is a vector.
func (c *Call) factor(name, transpose string) (tensor.Shape, bool, error) {
	s := append(tensor.Shape{}, c.Shape(name)...)
	n := len(s)
	if n == 0 {
		return nil, false, fmt.Errorf("%s is a scalar, expected rank 1 or more", name)
	}
	if c.Bool(transpose) {
		if n == 1 {
			return nil, false, fmt.Errorf("%s is true, but %s has rank 1", transpose, name)
		}
		s[n-1], s[n-2] = s[n-2], s[n-1]
	}
	return s, n == 1, nil
}

func inferMatmul(c *Call) ([]mil.Type, error) {
	p, err := c.matrixProduct()
	if err != nil {
		return nil, err
	}
	shape := p.out
	if p.colGone {
		shape = shape[:len(shape)-1]
	}
	if p.rowGone {
		// The axis of rows is the last or the last but one, as there is one of columns or not.
		at := len(p.out) - 2
		shape = append(append(tensor.Shape{}, shape[:at]...), shape[at+1:]...)
	}
	d, err := matmulType(c)
	if err != nil {
		return nil, err
	}
	return one(d, shape)
}

// matmulType is the element type of the product. From iOS17 on one factor may be a constant of another type.
func matmulType(c *Call) (tensor.DType, error) {
	x, y := c.DType("x"), c.DType("y")
	if x == y {
		return x, nil
	}
	switch xConst, yConst := c.writtenAsConstant("x"), c.writtenAsConstant("y"); {
	case yConst && !xConst:
		return x, nil
	case xConst && !yConst:
		return y, nil
	}
	return 0, fmt.Errorf("x is %v and y is %v: the element types may differ only where one of the two is constant", x, y)
}

// writtenAsConstant reports whether an argument is written in the program. Unlike what is known of a value, this
// does not change from verification to evaluation.
func (c *Call) writtenAsConstant(name string) bool {
	a := c.Op.Input(name)
	return len(a) == 1 && (a[0].Value == nil || a[0].Value.Def != nil && isConstant(a[0].Value.Def))
}

func evalMatmul(c *Call) error {
	p, err := c.matrixProduct()
	if err != nil {
		return err
	}
	if c.OutLen(0) == 0 {
		c.Return(0, tensor.New(held(c.Out(0).DType), c.OutShape(0)...)) // there may be any number of empty matrices
		return nil
	}
	x, y := newFactor(p.x, p.out, c.Bool("transpose_x")), newFactor(p.y, p.out, c.Bool("transpose_y"))
	dims, _ := p.out.Ints()
	batches, _ := tensor.Count(dims[:len(dims)-2])
	m, n, k := int(p.out[len(dims)-2]), int(p.out[len(dims)-1]), int(p.x[len(p.x)-1])
	if batches > 1 && y.oneMatrix && x.row == k && x.col == 1 && len(p.x) == len(p.out) {
		// The rows of all batches meet the same matrix: one tall product.
		m, batches = m*batches, 1
	}
	if c.Tensor("x").DType().IsFloat() || c.Tensor("y").DType().IsFloat() {
		xs, ys, out := c.Floats("x"), c.Floats("y"), make([]float32, c.OutLen(0))
		c.For(batches, 1, func(lo, hi int) {
			for b := lo; b < hi; b++ {
				gemm(c.halt, m, n, k, matrix{xs[x.at(b):], x.row, x.col}, matrix{ys[y.at(b):], y.row, y.col}, out[b*m*n:])
			}
		})
		c.Return(0, tensor.Of(out, c.OutShape(0)...))
		return nil
	}
	xs, ys, out := c.Int64s("x"), c.Int64s("y"), make([]int64, c.OutLen(0))
	for b := range batches {
		gemmInts(c.halt, m, n, k, intMatrix{xs[x.at(b):], x.row, x.col}, intMatrix{ys[y.at(b):], y.row, y.col}, out[b*m*n:])
	}
	c.ReturnInts(0, out)
	return nil
}

// factorLayout is where the matrices of a factor lie that is broadcast to the batches of a product.
type factorLayout struct {
	row, col  int
	size      int   // elements of a matrix
	out, own  []int // lengths of the batch axes of the product, and of the factor, right-aligned
	oneMatrix bool
}

func newFactor(shape, out tensor.Shape, transposed bool) factorLayout {
	n := len(shape)
	rows, cols := int(shape[n-2]), int(shape[n-1])
	f := factorLayout{row: cols, col: 1, size: rows * cols, oneMatrix: true}
	if transposed {
		f.row, f.col = 1, rows
	}
	for i, d := range out[:len(out)-2] {
		own := 1
		if j := i - (len(out) - n); j >= 0 {
			own = int(shape[j])
		}
		f.oneMatrix = f.oneMatrix && own == 1
		f.out, f.own = append(f.out, int(d)), append(f.own, own)
	}
	return f
}

// at is where the matrix of a batch begins.
func (f *factorLayout) at(batch int) int {
	at, step := 0, f.size
	for i := len(f.out) - 1; i >= 0; i-- {
		if f.own[i] > 1 {
			at += batch % f.out[i] * step
		}
		batch /= f.out[i]
		step *= f.own[i]
	}
	return at
}

// intMatrix is a view like matrix, of integers.
type intMatrix struct {
	data     []int64
	row, col int
}

// gemmInts adds a·b to c. Sums wrap; so does what they are stored as, and bits above those do not reach down.
func gemmInts(h *halt, m, n, k int, a, b intMatrix, c []int64) {
	h.For(m*n, 1+(1<<14)/max(1, k), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			i, j := o/n*a.row, o%n*b.col
			for p := range k {
				c[o] += a.data[i+p*a.col] * b.data[j+p*b.row]
			}
		}
	})
}
