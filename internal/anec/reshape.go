package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// Reshape gives the elements, in the order of their positions N, D, C, H, W,
// other extents.
type Reshape struct {
	Dims Dims `net:"Reshaped{Batch,Depth,Channel,Height,Width}"`
}

var reshapeContract = contract("y", "x")

func (*Reshape) Kind() Kind         { return KindReshape }
func (*Reshape) Contract() Contract { return reshapeContract }

func (p *Reshape) infer(o *operands) ([]Type, error) {
	have, _ := o.dims(0).Count()
	if want, ok := p.Dims.Count(); !ok || want != have {
		return nil, fmt.Errorf("%v cannot become %v: %d elements are not %d", o.dims(0), p.Dims, have, want)
	}
	return one(o.types[0].DType, p.Dims)
}

// FlattenOrder is the order in which positions are strung together
// (ZinIrFlattenType).
type FlattenOrder uint8

// The orders.
const (
	FlattenNCHW FlattenOrder = 1
	FlattenNHWC FlattenOrder = 2
)

var flattenOrderNames = map[FlattenOrder]string{FlattenNCHW: "NCHW", FlattenNHWC: "NHWC"}

func (f FlattenOrder) String() string { return nameOf(flattenOrderNames, f, "order") }

// Valid reports whether f has a name.
func (f FlattenOrder) Valid() bool { return flattenOrderNames[f] != "" }

// Flatten strings the channels and positions of each batch element together,
// along C (inferred).
type Flatten struct {
	Order FlattenOrder `net:"FlattenType"` // netplists say Mode too, with the same value
}

var flattenContract = contract("y", "x")

func (*Flatten) Kind() Kind         { return KindFlatten }
func (*Flatten) Contract() Contract { return flattenContract }

func (p *Flatten) infer(o *operands) ([]Type, error) {
	if err := valid(p.Order); err != nil {
		return nil, err
	}
	x := o.dims(0)
	if x[D] != 1 {
		return nil, fmt.Errorf("x has %d along D, want 1", x[D])
	}
	return one(o.types[0].DType, Dims{x[N], 1, x[C] * x[H] * x[W], 1, 1})
}

// Unflatten undoes a Flatten.
type Unflatten struct {
	Order FlattenOrder `net:"FlattenType?"`
	Dims  [3]int       // C, H, W; the descriptor has three numbers, in an order that is not known
}

var unflattenContract = contract("y", "x")

func (*Unflatten) Kind() Kind         { return KindUnflatten }
func (*Unflatten) Contract() Contract { return unflattenContract }

func (p *Unflatten) infer(o *operands) ([]Type, error) {
	if err := valid(p.Order); err != nil {
		return nil, err
	}
	n, ok := tensor.Count(p.Dims[:])
	if !ok {
		return nil, fmt.Errorf("%v are not the extents of a tensor", p.Dims)
	}
	if err := o.want(0, Dims{o.dims(0)[N], 1, n, 1, 1}); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, Dims{o.dims(0)[N], 1, p.Dims[0], p.Dims[1], p.Dims[2]})
}

// Alias is another name for x.
type Alias struct{}

var aliasContract = contract("y", "x")

func (*Alias) Kind() Kind                        { return KindAlias }
func (*Alias) Contract() Contract                { return aliasContract }
func (*Alias) infer(o *operands) ([]Type, error) { return like(o) }

// Transpose permutes the axes. A netplist and the descriptor have pairs of axes.
type Transpose struct {
	Perm Perm
}

var transposeContract = contract("y", "x")

func (*Transpose) Kind() Kind         { return KindTranspose }
func (*Transpose) Contract() Contract { return transposeContract }

func (p *Transpose) infer(o *operands) ([]Type, error) {
	if !p.Perm.Valid() {
		return nil, fmt.Errorf("%v is not a permutation of the axes", p.Perm)
	}
	return one(o.types[0].DType, p.Perm.Apply(o.dims(0)))
}
