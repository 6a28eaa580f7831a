package main

import (
	"bufio"
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// tableDump is an activation table in the JSON of a task.
type tableDump struct {
	Function  string    `json:"function,omitempty"`
	Reduction string    `json:"reduction"`
	Sign      string    `json:"sign"`
	X         [2]number `json:"x"`
	Y         [2]number `json:"y"`
	Spacing   number    `json:"spacing"`
	Knots     []number  `json:"knots"`
	Left      [2]number `json:"left"`
	Right     [2]number `json:"right"`
}

func newTableDump(data []byte) (*tableDump, error) {
	t, err := td.DecodeTable(data)
	if err != nil {
		return nil, err
	}
	half := func(a uint16) number { return number(tensor.F16(a)) }
	pair := func(a, b uint16) [2]number { return [2]number{half(a), half(b)} }
	d := &tableDump{
		Function: t.Name(), Reduction: t.Form().String(), Sign: t.Sign().String(),
		X: pair(t.XLow, t.XHigh), Y: pair(t.YLow, t.YHigh), Spacing: number(t.Spacing()),
		Left: pair(t.Left.Slope, t.Left.Intercept), Right: pair(t.Right.Slope, t.Right.Intercept),
	}
	for _, k := range t.Knots {
		d.Knots = append(d.Knots, half(k))
	}
	return d, nil
}

func (d *tableDump) print(w *bufio.Writer) {
	if d == nil {
		return
	}
	name := d.Function
	if name == "" {
		name = "a function without a known name"
	}
	fmt.Fprintf(w, "  table: %s, %s, sign %s, knots %s apart\n", name, d.Reduction, d.Sign, shortNumber(float64(d.Spacing)))
	pair := func(p [2]number) string { return numbersText(p[:], 2) }
	printColumns(w, "    ", [][]string{
		{"x from, to", pair(d.X)}, {"y there", pair(d.Y)},
		{"left slope, intercept", pair(d.Left)}, {"right slope, intercept", pair(d.Right)},
	})
	const inLine = 11
	for i := 0; i < len(d.Knots); i += inLine {
		title := ""
		if i == 0 {
			title = "knots"
		}
		part := d.Knots[i:min(i+inLine, len(d.Knots))]
		fmt.Fprintf(w, "    %-5s  %s\n", title, numbersText(part, len(part)))
	}
}
