package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/tensor"
)

// printHead prints what the file is.
func (h *dumpHead) printHead(w *bufio.Writer, more ...string) {
	facts := append([]string{h.Format}, more...)
	if h.Size > 0 {
		facts = append(facts, thousands(int(h.Size))+" bytes")
	}
	fmt.Fprintf(w, "%s\n  %s\n", printable(h.File), printable(strings.Join(facts, ", ")))
}

func (d *containerDump) print(w *bufio.Writer) {
	d.printHead(w, d.targetText())
	d.containerReport.print(w)
}

func (r *containerReport) targetText() string {
	if r.Target == "" {
		return fmt.Sprintf("for an unknown target, CPU subtype %d", r.CPUSubtype)
	}
	return "for " + r.Target
}

func (r *containerReport) print(w *bufio.Writer) {
	if lines := strings.Split(strings.TrimSpace(r.Banner), "\n"); r.Banner != "" {
		fmt.Fprintln(w, "banner")
		for _, line := range lines {
			fmt.Fprintf(w, "  %s\n", printable(line))
		}
	}
	r.printMap(w)
	r.printCommands(w)
	r.printProgram(w)
	r.printSymbols(w)
	for i := range r.Tasks {
		t := &r.Tasks[i]
		t.print(w)
	}
	if r.TasksNote != "" {
		fmt.Fprintf(w, "tasks: %s\n", printable(r.TasksNote))
	}
}

// printMap prints the regions. The load commands have a list of their own.
func (r *containerReport) printMap(w *bufio.Writer) {
	fmt.Fprintln(w, "map")
	rows := [][]string{{"in the file", "in memory", ""}}
	first, end := int64(-1), int64(0)
	for _, g := range r.Regions {
		span := "-"
		if g.Offset != nil {
			span = fmt.Sprintf("0x%x to 0x%x", *g.Offset, *g.Offset+g.Size)
		}
		if g.Kind == hwx.RegionCommand.String() {
			if first < 0 {
				first = *g.Offset
				rows = append(rows, nil)
			}
			end = *g.Offset + g.Size
			rows[len(rows)-1] = []string{fmt.Sprintf("0x%x to 0x%x", first, end), "", plural(len(r.Commands), "load command")}
			continue
		}
		memory := ""
		if g.Address != "" {
			memory = fmt.Sprintf("0x%x to 0x%x", g.addr, g.addr+uint64(g.Size))
		}
		rows = append(rows, []string{span, memory, strings.TrimSpace(g.Kind + " " + g.Name)})
	}
	printColumns(w, "  ", rows)
}

func (r *containerReport) printCommands(w *bufio.Writer) {
	fmt.Fprintln(w, "load commands")
	var rows [][]string
	for _, c := range r.Commands {
		rows = append(rows, []string{fmt.Sprintf("0x%x", c.Offset), c.Name, c.text()})
	}
	printColumns(w, "  ", rows)
}

// text has the fields of a load command that its name does not tell and that are not zero. What a tensor has
// the ports show.
func (c commandReport) text() string {
	var parts []string
	for _, m := range c.Fields {
		switch v := m.value.(type) {
		case uint64:
			switch {
			case m.name == "cmd" || m.name == "cmdsize" || m.name == "name" || v == 0:
			case strings.HasPrefix(c.Name, "tensor ") && !strings.HasPrefix(m.name, "word_"):
			case strings.HasSuffix(m.name, "prot"):
				parts = append(parts, m.name+" "+hwx.ProtString(uint32(v)))
			case v < 10:
				parts = append(parts, fmt.Sprintf("%s %d", m.name, v))
			default:
				parts = append(parts, fmt.Sprintf("%s 0x%x", m.name, v))
			}
		}
	}
	return strings.Join(parts, ", ")
}

func (r *containerReport) printProgram(w *bufio.Writer) {
	if p := r.Program; p != nil {
		fmt.Fprintf(w, "program %s: %s, the first with %s at %s\n", printable(p.Name), plural(p.Tasks, "task"), plural(p.FirstTaskWords, "word"), p.FirstTask)
	}
	var rows [][]string
	for _, b := range r.Bases {
		rows = append(rows, []string{fmt.Sprintf("base %d", b.Index), b.Address, b.Kind, b.Name})
	}
	printColumns(w, "  ", rows)
	if len(r.Ports) > 0 {
		fmt.Fprintln(w, "ports")
	}
	rows = nil
	for _, p := range r.Ports {
		row := []string{p.Direction, p.Name, fmt.Sprintf("%s %v", p.Type, tensor.ShapeOf(p.Shape[:]...)),
			"strides " + strings.Trim(fmt.Sprint(p.Strides), "[]"), fmt.Sprintf("0x%x bytes at %s", p.Bytes, p.Address)}
		if p.Tensor != p.Name {
			row = append(row, "tensor "+p.Tensor)
		}
		rows = append(rows, row)
	}
	printColumns(w, "  ", rows)
}

// shownRelocs is how many relocations are shown.
const shownRelocs = 16

func (r *containerReport) printSymbols(w *bufio.Writer) {
	s := r.Symbols
	if s.Count > 0 {
		fmt.Fprintf(w, "symbols: %d kernel streams, %d ports, %d element types, %d shapes", s.Kernels, s.Ports, s.Elements, s.Shapes)
		if s.Others > 0 {
			fmt.Fprintf(w, ", %d of unknown kinds", s.Others)
		}
		fmt.Fprintln(w)
	}
	if n := len(r.Relocations); n > 0 {
		var places []string
		for _, rel := range r.Relocations[:min(n, shownRelocs)] {
			places = append(places, fmt.Sprintf("0x%x", rel.Offset))
		}
		if n > shownRelocs {
			places = append(places, "…")
		}
		fmt.Fprintf(w, "relocations: %d, of %s into %s, at %s\n", n, r.Relocations[0].Section, r.Relocations[0].Into, strings.Join(places, " "))
	}
	sections := r.KernelSections
	if r.ConstantSection != nil {
		sections = append([]constantsReport{*r.ConstantSection}, sections...)
	}
	for _, c := range sections {
		content := "SHA-256 " + c.SHA256
		if c.SHA256 == "" {
			content = "not in the file"
		}
		fmt.Fprintf(w, "constants %s: 0x%x bytes at %s, %s\n", printable(c.Name), c.Size, c.Address, content)
	}
}
