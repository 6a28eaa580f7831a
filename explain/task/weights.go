package task

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Weights are the kernel that a task of version 7 loads.
type Weights struct {
	Type     string          `json:"type,omitempty"`
	Shape    []int           `json:"shape,omitempty"`
	Groups   int             `json:"groups,omitempty"`
	Lanes    int             `json:"lanes,omitempty"`
	Engines  int             `json:"engines,omitempty"`
	ZeroSkip bool            `json:"zero_skip,omitempty"`
	Source   string          `json:"source,omitempty"`
	RunTime  bool            `json:"run_time,omitempty"`
	Streams  []Stream        `json:"streams,omitempty"`
	Values   []report.Number `json:"values,omitempty"`
	Count    int             `json:"count"`
	Biases   []report.Number `json:"biases,omitempty"`
	Bias     int             `json:"bias_count,omitempty"`
	Note     string          `json:"note,omitempty"`
}

// A Stream is the part of a kernel that one engine loads.
type Stream struct {
	Engine int   `json:"engine"`
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
}

// shownWeights is how many weights of a task are shown.
const shownWeights = 8

// kernel describes the kernel streams of a version-7 task, nil if it loads none.
func (e *explainer) kernel(t *td.Task) (*Weights, *Table) {
	k, ok, err := td.KernelOf(e.registers)
	if !ok {
		return nil, nil
	}
	base, _ := t.Get(td.V7KernelBase[0])
	w := &Weights{Source: e.baseName(int(base))}
	if err != nil {
		w.Note = err.Error()
		return w, nil
	}
	w.Type, w.Lanes, w.Engines, w.ZeroSkip = td.V7NEKernelFormat.ValueName(uint32(k.Format)), k.Lanes, k.Engines, k.ZeroSkip
	if w.Count = k.Values(); w.Count > 0 {
		w.Groups, w.Shape = k.Groups, []int{k.Groups * k.Outputs, k.Inputs, k.Height, k.Width}
	}
	if k.Bias {
		w.Bias = k.Groups * k.Outputs
	}
	for i := range k.Engines {
		c := &td.V7KernelChannel[i]
		if e.registers.Value(c.Config.Enable) != 0 {
			w.Streams = append(w.Streams, Stream{i, int64(e.registers.Value(c.Offset)), int64(e.registers.Value(c.Size))})
		}
	}
	data, found := e.constants(int(base))
	if !found {
		w.RunTime = true
		return w, nil
	}
	streams, err := td.KernelStreams(e.registers, data)
	var table *Table
	if err == nil && k.Table && len(streams[0]) >= td.TableBytes {
		if table, err = newTable(streams[0]); err != nil {
			w.Note = err.Error()
			return w, nil
		}
	}
	var values *td.Weights
	if err == nil {
		values, err = k.Unpack(streams)
	}
	if err != nil {
		w.Note = err.Error()
		return w, table
	}
	for _, v := range values.Values[:min(len(values.Values), shownWeights)] {
		w.Values = append(w.Values, report.Number(k.Format.Float(v)))
	}
	for _, v := range values.Bias[:min(len(values.Bias), shownWeights)] {
		w.Biases = append(w.Biases, report.Number(tensor.F16(v)))
	}
	if len(w.Streams) > 0 {
		e.count(int(base), w.Streams[0].Offset, len(values.Values)+len(values.Bias))
	}
	return w, table
}

func (d *Weights) writeText(w *bufio.Writer) {
	if d == nil {
		return
	}
	line := "no weights of its own"
	if d.Count > 0 {
		line = fmt.Sprintf("%s weights %v", d.Type, tensor.ShapeOf(d.Shape...))
	}
	if d.Bias > 0 {
		line += fmt.Sprintf(" and %s", report.CountOf(d.Bias, "bias", "biases"))
	}
	line += fmt.Sprintf(", %s on %s", report.Count(d.Lanes, "lane"), report.Count(d.Engines, "engine"))
	if d.ZeroSkip {
		line += ", zeros left out"
	}
	if d.RunTime {
		line += ", made at run time"
	}
	fmt.Fprintf(w, "  kernel from %s: %s\n", report.Printable(d.Source), line)
	var rows [][]string
	for _, s := range d.Streams {
		rows = append(rows, []string{fmt.Sprintf("engine %d", s.Engine), fmt.Sprintf("+0x%x", s.Offset), fmt.Sprintf("0x%x bytes", s.Size)})
	}
	report.Columns(w, "    ", rows)
	if d.Values != nil {
		fmt.Fprintf(w, "    weights %s\n", numbersText(d.Values, d.Count))
	}
	if d.Biases != nil {
		fmt.Fprintf(w, "    biases %s\n", numbersText(d.Biases, d.Bias))
	}
	if d.Note != "" {
		fmt.Fprintf(w, "    %s\n", report.Printable(d.Note))
	}
}

// numbersText lists the first of so many numbers.
func numbersText(list []report.Number, of int) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, report.Short(float64(v)))
	}
	if of > len(list) {
		parts = append(parts, "…")
	}
	return strings.Join(parts, " ")
}
