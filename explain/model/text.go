package model

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/explain/report"
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, r.Model)
	r.Description.writeText(b, "")
	r.writeWeights(b)
	return b.Flush()
}

// WriteJSON writes the report by the schema of docs/json.md.
func (r *Report) WriteJSON(w io.Writer) error { return report.WriteJSON(w, r) }

func (r *Description) writeText(w io.Writer, indent string) {
	var facts []string
	if r.Format != "" {
		facts = append(facts, r.Format)
	}
	if r.SpecificationVersion > 0 {
		facts = append(facts, fmt.Sprintf("specification version %d", r.SpecificationVersion))
	}
	facts = append(facts, r.Type)
	if r.Target != "" {
		facts = append(facts, "for "+r.Target)
	}
	if r.Updatable {
		facts = append(facts, "updatable")
	}
	fmt.Fprintf(w, "%s  %s\n", indent, strings.Join(facts, ", "))
	rows := [][]string{{"description", r.Metadata.Description}, {"version", r.Metadata.Version},
		{"author", r.Metadata.Author}, {"license", r.Metadata.License}}
	for _, key := range slices.Sorted(maps.Keys(r.Metadata.UserDefined)) {
		rows = append(rows, []string{key, r.Metadata.UserDefined[key]})
	}
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
	report.Columns(w, indent+"  ", rows)
	for _, f := range r.Functions {
		f.writeText(w, indent)
	}
	writeLayers(w, indent, r.Layers)
	for i, stage := range r.Stages {
		name := ""
		if stage.Name != "" {
			name = " " + stage.Name
		}
		fmt.Fprintf(w, "%sstage %d%s\n", indent, i, report.Printable(name))
		stage.Description.writeText(w, indent+"  ")
	}
}

func (f *Function) writeText(w io.Writer, indent string) {
	line := "function " + f.Name
	if f.Default {
		line += ", the default"
	}
	if f.Opset != "" {
		line += ", opset " + f.Opset
	}
	if f.UnknownOpset {
		line += " (unknown)"
	}
	fmt.Fprintln(w, indent+report.Printable(line))
	for _, list := range []struct {
		title    string
		features []Feature
	}{{"inputs", f.Inputs}, {"outputs", f.Outputs}, {"states", f.States}} {
		if len(list.features) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s  %s\n", indent, list.title)
		var rows [][]string
		for _, d := range list.features {
			typ := d.Type
			if d.Optional {
				typ += ", optional"
			}
			rows = append(rows, []string{d.Name, typ, d.Description})
		}
		report.Columns(w, indent+"    ", rows)
	}
	writeOperations(w, indent, f.Operations)
	writeLayers(w, indent, f.Layers)
	writeSegments(w, indent, f.Segments)
	if f.Tasks > 0 && len(f.Segments) == 0 { // segments show theirs
		fmt.Fprintf(w, "%s  %s\n", indent, report.Count(f.Tasks, "task"))
	}
}

func writeSegments(w io.Writer, indent string, list []Segment) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "%s  segments\n", indent)
	var rows [][]string
	for _, s := range list {
		row := []string{s.Backend, s.Operation, s.Container, report.Count(s.Tasks, "task")}
		if s.Backend == bundle.Host {
			row = []string{s.Backend, s.Operation, s.Function}
		}
		rows = append(rows, row)
	}
	report.Columns(w, indent+"    ", rows)
}

func writeOperations(w io.Writer, indent string, list []OperationCount) {
	if len(list) == 0 {
		return
	}
	total, constants := 0, 0
	var rows [][]string
	var unknown []string
	for _, op := range list {
		if op.Kind == "const" {
			constants = op.Count
			continue
		}
		total += op.Count
		rows = append(rows, []string{op.Kind, strconv.Itoa(op.Count)})
		if op.Unknown {
			unknown = append(unknown, op.Kind)
		}
	}
	fmt.Fprintf(w, "%s  %s, %s\n", indent, report.Count(total, "operation"), report.Count(constants, "constant"))
	report.Columns(w, indent+"    ", rows)
	if len(unknown) > 0 {
		fmt.Fprintf(w, "%s  the catalogue does not have: %s\n", indent, report.Printable(strings.Join(unknown, ", ")))
	}
}

func (r *Report) writeWeights(w io.Writer) {
	switch {
	case len(r.Weights.Files) == 0 && r.ProgramVersion != "":
		fmt.Fprintln(w, "no weight files")
	case r.Target != "":
		fmt.Fprintf(w, "weights: %s\n", report.Count(r.Weights.Parameters, "parameter"))
	case len(r.Weights.Files)+len(r.Weights.Types) > 0:
		fmt.Fprintf(w, "weights: %s\n", report.Count(r.Weights.Parameters, "parameter"))
		var rows [][]string
		for _, f := range r.Weights.Files {
			state := fmt.Sprintf("%s, %s, %d used", report.Size(f.Size), report.Count(f.Records, "record"), f.Used)
			switch {
			case f.Missing:
				state = "the file is missing: the model cannot run without it"
			case f.Error != "":
				state = "damaged"
			case f.Records == 0: // of a graph, whose files have none
				state = report.Size(f.Size)
			}
			rows = append(rows, []string{f.Path, state})
		}
		for _, t := range r.Weights.Types {
			rows = append(rows, []string{t.DType, fmt.Sprintf("%s, %s, %s", report.Count(t.Arrays, "array"), report.Count(t.Elements, "element"), report.Size(t.Bytes))})
		}
		report.Columns(w, "  ", rows)
	}
	if len(r.Compression) > 0 {
		fmt.Fprintln(w, "compression")
		var rows [][]string
		for _, op := range r.Compression {
			rows = append(rows, []string{op.Kind, strconv.Itoa(op.Count)})
		}
		report.Columns(w, "  ", rows)
	}
}
