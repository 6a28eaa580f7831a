package td

import "fmt"

// Classes that scale: to and from quantized integers, and after an elementwise
// operation.
var (
	quantRow             = newClassRow(ClassQuant, func() Params { return new(Quant) }, "y", "x scale zero", 2)
	deQuantRow           = newClassRow(ClassDeQuant, func() Params { return new(DeQuant) }, "y", "x scale zero", 2)
	scaledElementWiseRow = newClassRow(ClassScaledElementWise, func() Params { return new(ScaledElementWise) }, "y", "x z", 2, "Kind", "Scale~")
)

// Quant is round(x/scale) + zero, saturated to the type of y, which is an
// integer. The quotient is an fp32 number; a tie goes to the even integer, NaN to
// 0. scale and zero broadcast: one number, or one for each element of an axis.
// The integers are the result: no epilogue follows.
type Quant struct{}

func (p *Quant) row() *classRow { return quantRow }
func (p *Quant) values() []any  { return nil }

func (p *Quant) check(o *Op) error {
	if y := o.Operands[0].Type; !y.IsInteger() {
		return fmt.Errorf("y is of %v, want integers", y)
	}
	for _, i := range [...]int{1, 2} {
		if d := o.Operands[i].Type; !d.IsFloat() {
			return fmt.Errorf("%s is of %v, want floats", o.name(i), d)
		}
	}
	if err := o.noEpilogue(); err != nil {
		return err
	}
	if err := o.sameDims(1); err != nil {
		return err
	}
	return o.broadcast(2, 3)
}

// DeQuant is (x - zero)*scale. scale and zero broadcast.
type DeQuant struct{}

func (p *DeQuant) row() *classRow { return deQuantRow }
func (p *DeQuant) values() []any  { return nil }

func (p *DeQuant) check(o *Op) error {
	if x := o.Operands[1].Type; !x.IsInteger() {
		return fmt.Errorf("x is of %v, want integers", x)
	}
	if d := o.Operands[2].Type; !d.IsFloat() {
		return fmt.Errorf("scale is of %v, want floats", d)
	}
	if err := o.sameDims(1); err != nil {
		return err
	}
	return o.broadcast(2, 3)
}

// ScaledEWKind is what a scaled elementwise operation does (ZinIrScaledEWType).
type ScaledEWKind uint8

// The kinds.
const (
	ScaledAdd       ScaledEWKind = 1
	ScaledMult      ScaledEWKind = 2
	ScaledSumSquare ScaledEWKind = 3 // the sum of the squares, which its name says; no source defines it
	ScaledMax       ScaledEWKind = 4
	ScaledMin       ScaledEWKind = 5
)

var scaledEWKindNames = map[ScaledEWKind]string{
	ScaledAdd: "Add", ScaledMult: "Mult", ScaledSumSquare: "SumSquare", ScaledMax: "Max", ScaledMin: "Min",
}

func (k ScaledEWKind) String() string { return nameOf(scaledEWKindNames, k, "scaled elementwise kind") }

// Valid reports whether k has a name.
func (k ScaledEWKind) Valid() bool { return scaledEWKindNames[k] != "" }

// ScaledElementWise is Scale times what the kind makes of x and z.
type ScaledElementWise struct {
	Kind  ScaledEWKind
	Scale float32
}

func (p *ScaledElementWise) row() *classRow { return scaledElementWiseRow }
func (p *ScaledElementWise) values() []any  { return []any{&p.Kind, &p.Scale} }

func (p *ScaledElementWise) check(o *Op) error {
	if !p.Kind.Valid() {
		return fmt.Errorf("%v is not known", p.Kind)
	}
	return o.broadcast(1, 2)
}

// noEpilogue refuses steps after a class whose values are stored as they are.
func (o *Op) noEpilogue() error {
	if n := len(o.Epilogue); n > 0 {
		return fmt.Errorf("an epilogue of %d steps: its results are stored as they are", n)
	}
	return nil
}
