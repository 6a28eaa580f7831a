package task

import (
	"bufio"
	"fmt"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A Table is the activation table of a task.
type Table struct {
	Function  string           `json:"function,omitempty"`
	Reduction string           `json:"reduction"`
	Sign      string           `json:"sign"`
	X         [2]report.Number `json:"x"`
	Y         [2]report.Number `json:"y"`
	Spacing   report.Number    `json:"spacing"`
	Knots     []report.Number  `json:"knots"`
	Left      [2]report.Number `json:"left"`
	Right     [2]report.Number `json:"right"`
}

func newTable(data []byte) (*Table, error) {
	t, err := td.DecodeTable(data)
	if err != nil {
		return nil, err
	}
	half := func(a uint16) report.Number { return report.Number(tensor.F16(a)) }
	pair := func(a, b uint16) [2]report.Number { return [2]report.Number{half(a), half(b)} }
	d := &Table{
		Function: t.Name(), Reduction: t.Form().String(), Sign: t.Sign().String(),
		X: pair(t.XLow, t.XHigh), Y: pair(t.YLow, t.YHigh), Spacing: report.Number(t.Spacing()),
		Left: pair(t.Left.Slope, t.Left.Intercept), Right: pair(t.Right.Slope, t.Right.Intercept),
	}
	for _, k := range t.Knots {
		d.Knots = append(d.Knots, half(k))
	}
	return d, nil
}

func (d *Table) writeText(w *bufio.Writer) {
	if d == nil {
		return
	}
	name := d.Function
	if name == "" {
		name = "a function without a known name"
	}
	fmt.Fprintf(w, "  table: %s, %s, sign %s, knots %s apart\n", name, d.Reduction, d.Sign, report.Short(float64(d.Spacing)))
	pair := func(p [2]report.Number) string { return numbersText(p[:], 2) }
	report.Columns(w, "    ", [][]string{
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
