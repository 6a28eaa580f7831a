package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Random makes numbers from Low up to, but not including, High.
type Random struct {
	Dims Dims    // the descriptor takes them from the result
	Low  float32 `net:"Low?"`
	High float32 `net:"High?"`
	Seed int     `net:"Seed?"` // the descriptor has three numbers

	// Fresh numbers are others in every run, whatever the seed. A chip that has a
	// generator makes them; ours follows the seed alone.
	Fresh bool
}

var randomInfo = KindInfo{
	Kind: KindRandom, Name: "RandomGenerator", Dialect: Dialect{Name: "random_generator"}, Standing: Descriptor, Desc: "Random", Class: td.ClassRandomGenerator,
	Sources: "export desc B", Unsure: "its keys",
	New: func() Params { return &Random{High: 1} }, Contract: contract("y", ""),
	Example: Example{"Dims=[1,1,8,16,16]", ""},

	Pattern: Pattern{0, 0, "", onlyCount}, Check: validateRandom,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, // with another type of the result the numbers would be others
	TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: never, Cost: Cost{None: whyNoTree},
}

func (*Random) Info() *KindInfo { return &randomInfo }

func (p *Random) infer(o *operands) ([]Type, error) {
	if !(p.Low < p.High) {
		return nil, fmt.Errorf("from %g to %g", p.Low, p.High)
	}
	return one(tensor.Float16, p.Dims)
}

// Dropout sets elements to 0 at a rate and scales the others to keep the mean.
// With rate 0, as in inference, y is x.
type Dropout struct {
	Rate float32 `net:"DropoutRate"`
	Seed int     `net:"Seed"`
}

var dropoutInfo = KindInfo{
	Kind: KindDropout, Name: "Dropout", Dialect: Dialect{Name: "dropout"}, Standing: Descriptor, Desc: "Dropout", Class: td.ClassDropout, Sources: "export desc unit B",
	New: func() Params { return &Dropout{} }, Contract: contract("y", "x"),
	Example: Example{"", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateDropout,

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: View{When: dropsNothing}, InPlace: overAny, Rows: allRows, AtLoad: dropsNothing, Cost: perResult(2),
}

func (*Dropout) Info() *KindInfo { return &dropoutInfo }

func (p *Dropout) infer(o *operands) ([]Type, error) {
	if !(p.Rate >= 0 && p.Rate < 1) {
		return nil, fmt.Errorf("rate %g, want 0 or more and less than 1", p.Rate)
	}
	return like(o)
}

func dropsNothing(p Params) bool { return p.(*Dropout).Rate == 0 }
