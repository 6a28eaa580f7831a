package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/espalier-ane/espalier/bundle"
)

// printInspection prints what inspect found for people.
func printInspection(out io.Writer, r inspectReport) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, r.Model)
	printModel(w, "", r.modelReport)
	printWeights(w, r)
	return w.Flush()
}

func printModel(w io.Writer, indent string, r modelReport) {
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
	printColumns(w, indent+"  ", rows)
	for _, f := range r.Functions {
		printFunction(w, indent, f)
	}
	for i, stage := range r.Stages {
		name := ""
		if stage.Name != "" {
			name = " " + stage.Name
		}
		fmt.Fprintf(w, "%sstage %d%s\n", indent, i, printable(name))
		printModel(w, indent+"  ", stage.modelReport)
	}
}

func printFunction(w io.Writer, indent string, f functionReport) {
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
	fmt.Fprintln(w, indent+printable(line))
	for _, list := range []struct {
		title    string
		features []featureReport
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
		printColumns(w, indent+"    ", rows)
	}
	printOperations(w, indent, f.Operations)
	printSegments(w, indent, f.Segments)
	if f.Tasks > 0 && len(f.Segments) == 0 { // segments show theirs
		fmt.Fprintf(w, "%s  %s\n", indent, plural(f.Tasks, "task"))
	}
}

func printSegments(w io.Writer, indent string, list []segmentReport) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "%s  segments\n", indent)
	var rows [][]string
	for _, s := range list {
		row := []string{s.Backend, s.Operation, s.Container, plural(s.Tasks, "task")}
		if s.Backend == bundle.Host {
			row = []string{s.Backend, s.Operation, s.Function}
		}
		rows = append(rows, row)
	}
	printColumns(w, indent+"    ", rows)
}

func printOperations(w io.Writer, indent string, list []operationReport) {
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
	fmt.Fprintf(w, "%s  %s, %s\n", indent, plural(total, "operation"), plural(constants, "constant"))
	printColumns(w, indent+"    ", rows)
	if len(unknown) > 0 {
		fmt.Fprintf(w, "%s  the catalogue does not have: %s\n", indent, printable(strings.Join(unknown, ", ")))
	}
}

func printWeights(w io.Writer, r inspectReport) {
	switch {
	case len(r.Weights.Files) == 0 && r.ProgramVersion != "":
		fmt.Fprintln(w, "no weight files")
	case r.Target != "":
		fmt.Fprintf(w, "weights: %s\n", plural(r.Weights.Parameters, "parameter"))
	case len(r.Weights.Files) > 0:
		fmt.Fprintf(w, "weights: %s\n", plural(r.Weights.Parameters, "parameter"))
		var rows [][]string
		for _, f := range r.Weights.Files {
			state := fmt.Sprintf("%s, %s, %d used", byteSize(f.Size), plural(f.Records, "record"), f.Used)
			switch {
			case f.Missing:
				state = "the file is missing: the model cannot run without it"
			case f.Error != "":
				state = "damaged"
			}
			rows = append(rows, []string{f.Path, state})
		}
		for _, t := range r.Weights.Types {
			rows = append(rows, []string{t.DType, fmt.Sprintf("%s, %s, %s", plural(t.Arrays, "array"), plural(t.Elements, "element"), byteSize(t.Bytes))})
		}
		printColumns(w, "  ", rows)
	}
	if len(r.Compression) > 0 {
		fmt.Fprintln(w, "compression")
		var rows [][]string
		for _, op := range r.Compression {
			rows = append(rows, []string{op.Kind, strconv.Itoa(op.Count)})
		}
		printColumns(w, "  ", rows)
	}
}

// printColumns prints rows whose cells begin at the same column. Names in a model may be of any length: a
// long one moves only its own row.
func printColumns(w io.Writer, indent string, rows [][]string) {
	const widest = 48
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := len([]rune(cell)); n <= widest {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], printable(cell))
		}
		fmt.Fprintln(w, indent+strings.TrimRight(line.String(), " "))
	}
}

// printable is a text of a model as a terminal may have it: in one line, and without control sequences.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// plural counts things: "1 record", "2,048 records".
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return thousands(n) + " " + thing
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// byteSize writes a number of bytes with a binary prefix.
func byteSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
