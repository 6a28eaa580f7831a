package td

import "fmt"

// The normalizations but LayerNorm.

var (
	instanceNormRow = newClassRow(ClassInstanceNormalization, func() Params { return new(InstanceNorm) }, "y", "x gamma beta", 1, "Axes", "Epsilon~").inPlace("x")
	l2NormRow       = newClassRow(ClassL2Normalization, func() Params { return new(L2Norm) }, "y", "x", 1, "Axes", "Epsilon~").inPlace("x")
	minMaxNormRow   = newClassRow(ClassMinMaxNormalization, func() Params { return new(MinMaxNorm) }, "y", "x", 1, "Axes", "Epsilon~").inPlace("x")
	lrnRow          = newClassRow(ClassLocalResponseNormalization, func() Params { return new(LRN) }, "y", "x", 1, "Size", "Alpha~", "Beta~", "K~")

	normRows = []*classRow{instanceNormRow, l2NormRow, minMaxNormRow, lrnRow}
)

// InstanceNorm is LayerNorm over spatial axes, with gamma and beta for each
// channel.
type InstanceNorm struct {
	Axes    Axes
	Epsilon float32
}

func (p *InstanceNorm) row() *classRow { return instanceNormRow }
func (p *InstanceNorm) values() []any  { return []any{&p.Axes, &p.Epsilon} }

func (p *InstanceNorm) check(o *Op) error {
	for a := range Axis(NumAxes) {
		if p.Axes.Has(a) && (a == AxisN || a == AxisC) {
			return fmt.Errorf("over %v: want spatial axes", a)
		}
	}
	if err := o.sameDims(1); err != nil {
		return err
	}
	for i := 2; i < min(len(o.Operands), 4); i++ {
		one := [NumAxes]int{1, 1, 1, 1, 1}
		one[AxisC] = o.Operands[i].Dims[AxisC]
		if o.Operands[i].Present() && o.Operands[i].Dims != one {
			return fmt.Errorf("%s has extents %v, want channels alone", o.name(i), o.Operands[i].Dims)
		}
	}
	return o.broadcast(2, 3)
}

// L2Norm is x / sqrt(sum of squares over the axes + Epsilon).
type L2Norm struct {
	Axes    Axes
	Epsilon float32
}

func (p *L2Norm) row() *classRow    { return l2NormRow }
func (p *L2Norm) values() []any     { return []any{&p.Axes, &p.Epsilon} }
func (p *L2Norm) check(o *Op) error { return o.sameDims(1) }

// MinMaxNorm is (x - min) / (max - min + Epsilon), both over the axes.
type MinMaxNorm struct {
	Axes    Axes
	Epsilon float32
}

func (p *MinMaxNorm) row() *classRow    { return minMaxNormRow }
func (p *MinMaxNorm) values() []any     { return []any{&p.Axes, &p.Epsilon} }
func (p *MinMaxNorm) check(o *Op) error { return o.sameDims(1) }

// LRN is x / (K + Alpha/Size * sum of squares)^Beta, where the sum is over the
// Size channels about each: Size/2, rounded down, before it and the rest from it
// on. Channels outside x count as 0.
type LRN struct {
	Size           int
	Alpha, Beta, K float32
}

func (p *LRN) row() *classRow { return lrnRow }
func (p *LRN) values() []any  { return []any{&p.Size, &p.Alpha, &p.Beta, &p.K} }

func (p *LRN) check(o *Op) error {
	if p.Size < 1 {
		return fmt.Errorf("a window of %d channels", p.Size)
	}
	return o.sameDims(1)
}
