package td

import "fmt"

var randomRow = newClassRow(ClassRandomGenerator, func() Params { return new(RandomGenerator) }, "y", "", 0, "Low~", "High~", "Seed")

// RandomGenerator makes numbers from Low up to, but not including, High. They are
// a function of Seed and of the place alone. Element i, in logical order, is made
// of word i%4 of what Philox4x32-10 makes of the counter i/4 under the key
// {Seed, 0}: Low + u*(High-Low), u being its top 24 bits as a fraction, or its
// top 11 if y is of fp16; rounded to the type of y, and Low if that is High or
// more.
type RandomGenerator struct {
	Low, High float32
	Seed      uint32
}

func (p *RandomGenerator) row() *classRow { return randomRow }
func (p *RandomGenerator) values() []any  { return []any{&p.Low, &p.High, &p.Seed} }

func (p *RandomGenerator) check(o *Op) error {
	if !(p.Low < p.High) || p.High-p.High != 0 || p.Low-p.Low != 0 { // what is infinite less itself is NaN
		return fmt.Errorf("from %g to %g", p.Low, p.High)
	}
	return nil
}
