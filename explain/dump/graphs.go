package dump

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/espalier-ane/espalier/explain/model"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/internal/graphfile"
)

// Graphs are graphs of native layers: what package model says of them, and the file itself.
type Graphs struct {
	model.Report

	Document string `json:"document"` // the text of the graphs, or the property list as XML
}

func explainGraphs(f *file) (Content, error) {
	g, err := graphfile.Open(f.File)
	if err != nil {
		return nil, err
	}
	f.opened = append([]io.Closer{g}, f.opened...)
	described, err := model.DescribeGraphs(f.File, g)
	if err != nil {
		return nil, err
	}
	f.Format = g.Format
	var b strings.Builder
	if err := g.WriteDocument(&b); err != nil {
		return nil, f.named(err)
	}
	return &Graphs{*described, b.String()}, nil
}

// MarshalJSON leaves out the format, which the head of the report has.
func (d *Graphs) MarshalJSON() ([]byte, error) {
	type fields Graphs // without this method
	c := fields(*d)
	c.Format = ""
	return report.Marshal(&c)
}

// writeText writes what inspect says, then the file.
func (d *Graphs) writeText(w *bufio.Writer, _ *Head) {
	if err := d.Report.WriteText(w); err != nil {
		return // the writer keeps it
	}
	fmt.Fprintf(w, "\n%s", d.Document)
}
