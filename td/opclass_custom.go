package td

import "fmt"

var neuronCustomRow = newClassRow(ClassNeuronCustom, func() Params { return new(NeuronCustom) }, "y", "x", 1, tableFields...).inPlace("x")

// tableFields are the registers of a table, one for each of its 43 halfwords, in
// the order in which they are stored.
var tableFields = func() []string {
	names := []string{"XLow", "XHigh", "YLow", "YHigh"}
	for i := range NumKnots {
		names = append(names, fmt.Sprint("Knot", i))
	}
	return append(names, "LeftSlope", "LeftIntercept", "RightSlope", "RightIntercept", "SpacingLog2", "Mode")
}()

// NeuronCustom is the function of a table that the task carries: Table.Func says
// what it computes. Its numbers are fp16 bits, as in the table.
type NeuronCustom struct{ Table }

func (p *NeuronCustom) row() *classRow { return neuronCustomRow }

func (p *NeuronCustom) values() (values []any) {
	for _, h := range p.halfwords() {
		values = append(values, h)
	}
	return values
}

func (p *NeuronCustom) check(o *Op) error {
	if _, err := p.Func(); err != nil {
		return err
	}
	return o.sameDims(1)
}
