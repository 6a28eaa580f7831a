package dump

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/tensor"
)

func (r *Container) writeText(w *bufio.Writer, h *Head) {
	h.writeText(w, r.targetText())
	r.writeBody(w)
}

func (r *Container) targetText() string {
	if r.Target == "" {
		return fmt.Sprintf("for an unknown target, CPU subtype %d", r.CPUSubtype)
	}
	return "for " + r.Target
}

func (r *Container) writeBody(w *bufio.Writer) {
	if lines := strings.Split(strings.TrimSpace(r.Banner), "\n"); r.Banner != "" {
		fmt.Fprintln(w, "banner")
		for _, line := range lines {
			fmt.Fprintf(w, "  %s\n", report.Printable(line))
		}
	}
	r.writeMap(w)
	r.writeCommands(w)
	if r.Procedures == nil {
		writeProgram(w, r.Program, r.Bases, r.Ports)
	}
	r.writeSymbols(w)
	for i := range r.Procedures {
		r.Procedures[i].writeText(w)
	}
	for i := range r.Tasks {
		r.Tasks[i].WriteText(w)
	}
	if r.TasksNote != "" {
		fmt.Fprintf(w, "tasks: %s\n", report.Printable(r.TasksNote))
	}
}

// writeMap writes the regions. The load commands have a list of their own.
func (r *Container) writeMap(w *bufio.Writer) {
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
			rows[len(rows)-1] = []string{fmt.Sprintf("0x%x to 0x%x", first, end), "", report.Count(len(r.Commands), "load command")}
			continue
		}
		memory := ""
		if g.Address != "" {
			memory = fmt.Sprintf("0x%x to 0x%x", g.addr, g.addr+uint64(g.Size))
		}
		rows = append(rows, []string{span, memory, strings.TrimSpace(g.Kind + " " + g.Name)})
	}
	report.Columns(w, "  ", rows)
}

func (r *Container) writeCommands(w *bufio.Writer) {
	fmt.Fprintln(w, "load commands")
	var rows [][]string
	for _, c := range r.Commands {
		rows = append(rows, []string{fmt.Sprintf("0x%x", c.Offset), c.Name, c.text()})
	}
	report.Columns(w, "  ", rows)
}

// text has the fields of a load command that its name does not tell and that are not zero. What a tensor has
// the ports show.
func (c Command) text() string {
	var parts []string
	for _, m := range c.Fields {
		switch v := m.Value.(type) {
		case uint64:
			switch {
			case m.Name == "cmd" || m.Name == "cmdsize" || m.Name == "name" || v == 0:
			case strings.HasPrefix(c.Name, "tensor ") && !strings.HasPrefix(m.Name, "word_"):
			case strings.HasSuffix(m.Name, "prot"):
				parts = append(parts, m.Name+" "+hwx.ProtString(uint32(v)))
			case v < 10:
				parts = append(parts, fmt.Sprintf("%s %d", m.Name, v))
			default:
				parts = append(parts, fmt.Sprintf("%s 0x%x", m.Name, v))
			}
		}
	}
	return strings.Join(parts, ", ")
}

func writeProgram(w *bufio.Writer, p *ContainerProgram, bases []Base, ports []Port) {
	if p != nil {
		fmt.Fprintf(w, "program %s: %s, the first with %s at %s\n", report.Printable(p.Name), report.Count(p.Tasks, "task"), report.Count(p.FirstTaskWords, "word"), p.FirstTask)
	}
	var rows [][]string
	for _, b := range bases {
		rows = append(rows, []string{fmt.Sprintf("base %d", b.Index), b.Address, b.Kind, b.Name})
	}
	report.Columns(w, "  ", rows)
	if len(ports) > 0 {
		fmt.Fprintln(w, "ports")
	}
	rows = nil
	for _, p := range ports {
		row := []string{p.Direction, p.Name, fmt.Sprintf("%s %v", p.Type, tensor.ShapeOf(p.Shape[:]...)),
			"strides " + strings.Trim(fmt.Sprint(p.Strides), "[]"), fmt.Sprintf("0x%x bytes at %s", p.Bytes, p.Address)}
		if p.Tensor != p.Name {
			row = append(row, "tensor "+p.Tensor)
		}
		rows = append(rows, row)
	}
	report.Columns(w, "  ", rows)
}

// shownRelocs is how many relocations are shown.
const shownRelocs = 16

func (r *Container) writeSymbols(w *bufio.Writer) {
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
	writeConstants(w, r.ConstantSection)
	for i := range r.KernelSections {
		writeConstants(w, &r.KernelSections[i])
	}
}

func writeConstants(w *bufio.Writer, c *Constants) {
	if c == nil {
		return
	}
	content := "SHA-256 " + c.SHA256
	if c.SHA256 == "" {
		content = "not in the file"
	}
	fmt.Fprintf(w, "constants %s: 0x%x bytes at %s, %s\n", report.Printable(c.Name), c.Size, c.Address, content)
}
