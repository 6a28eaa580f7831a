package dump

import (
	"bufio"
	"fmt"
	"io"

	"github.com/espalier-ane/espalier/explain/model"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/graphfile"
)

// Graphs are graphs of native layers: what package model says of them, and their texts.
type Graphs struct {
	model.Report

	Texts []GraphText `json:"texts"`
}

// A GraphText is the text of a graph.
type GraphText struct {
	Name string `json:"name"`
	Text string `json:"text"`
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
	r := &Graphs{Report: *described}
	for _, p := range g.Procedures {
		r.Texts = append(r.Texts, GraphText{p.Name, anec.Print(p.Graph)})
	}
	return r, nil
}

// MarshalJSON leaves out the format, which the head of the report has.
func (d *Graphs) MarshalJSON() ([]byte, error) {
	type fields Graphs // without this method
	c := fields(*d)
	c.Format = ""
	return report.Marshal(&c)
}

// writeText writes what inspect says, then the graphs.
func (d *Graphs) writeText(w *bufio.Writer, _ *Head) {
	if err := d.Report.WriteText(w); err != nil {
		return // the writer keeps it
	}
	for _, t := range d.Texts {
		fmt.Fprintf(w, "\n%s", t.Text)
	}
}
