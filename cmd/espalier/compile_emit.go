package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/explain/task"
)

// The forms of --emit beside the passes, in the order in which the compiler makes them.
const (
	emitMIL    = "mil"
	emitLayers = "anec"
	emitMemory = "memory"
	emitTasks  = "tasks"
	emitWords  = "td"
	emitAll    = "all" // of them

	// emitPicture is SVG, and so not among all, which is text.
	emitPicture = "picture"

	// emitNetplist is a folder: -o says which.
	emitNetplist = "netplist"
)

// emitForms come before passes of the same name.
var emitForms = []string{emitMIL, emitLayers, emitMemory, emitTasks, emitWords}

func passNamed(name string) *espalier.PassInfo {
	for _, p := range espalier.Passes() {
		if p.Name == name {
			return &p
		}
	}
	return nil
}

// hasLayers reports whether a pass leaves layers that can be compiled: those before the schedule do.
func hasLayers(pass string) bool {
	p := passNamed(pass)
	return p != nil && (p.Phase == "fuse" || p.Phase == "legalize")
}

// lastPass is the last pass of a phase.
func lastPass(phase string) string {
	last := ""
	for _, p := range espalier.Passes() {
		if p.Phase == phase {
			last = p.Name
		}
	}
	return last
}

// passBefore is the last pass before a phase.
func passBefore(phase string) string {
	last := ""
	for _, p := range espalier.Passes() {
		if p.Phase == phase {
			break
		}
		last = p.Name
	}
	return last
}

// keep takes from a segment after a pass what --emit asks for. A segment that is compiled anew, because a pass refused an
// operation, comes again: the last time counts.
func (c *compilation) keep(p espalier.PassReport) {
	for _, form := range c.forms {
		text := p.Text
		switch {
		case form == emitLayers && p.Pass == passBefore("schedule"):
			text = p.Layers
		case form == emitMemory && p.Pass == lastPass("memory"):
			text = p.Memory
		case form == emitPicture && p.Pass == lastPass("memory"):
			text = p.Picture
		case form == p.Pass && form != emitMemory && form != emitTasks:
		default:
			continue
		}
		if c.texts[p.Segment] == nil {
			c.texts[p.Segment] = map[string]string{}
		}
		if c.graphs != nil {
			text = func() string { return p.LayersWith(c.graphs.Place) }
		}
		c.texts[p.Segment][form] = text()
	}
}

// emit prints the forms one after the other, each with a title if there are several.
func (c *compilation) emit(out io.Writer) error {
	w := bufio.NewWriter(out)
	for i, form := range c.forms {
		if len(c.forms) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "// %s\n", form)
		}
		if form == emitMIL {
			err := c.program.WriteMIL(w)
			if errors.Is(err, espalier.ErrNoMIL) && len(c.forms) > 1 {
				fmt.Fprintf(w, "// %v\n", err)
			} else if err != nil {
				return err
			}
			continue
		}
		for _, f := range c.program.Functions() {
			for _, s := range f.Segments {
				if err := c.emitSegment(w, form, s); err != nil {
					return fmt.Errorf("segment %s: %w", s.Name, err)
				}
			}
		}
	}
	return w.Flush()
}

func (c *compilation) emitSegment(w *bufio.Writer, form string, s espalier.CompiledSegment) error {
	if form == emitPicture { // a file by itself, if there is one segment
		w.WriteString(c.texts[s.Name][form])
		return nil
	}
	comment := "" // where layers are text that can be compiled
	if form == emitLayers || hasLayers(form) {
		comment = "// "
	}
	fmt.Fprintf(w, "%ssegment %s, %s\n", comment, report.Printable(s.Name), s.Backend)
	switch {
	case s.Container == nil:
		fmt.Fprintf(w, "%s  %s of the host\n", comment, report.Count(s.Operations, "operation"))
	case form == emitTasks || form == emitWords:
		tasks, err := task.Explain(s.Container)
		if err != nil {
			return err
		}
		for i := range tasks {
			t := &tasks[i]
			if form == emitTasks {
				fmt.Fprintf(w, "task %d  %s\n", t.Index, report.Printable(t.What))
				continue
			}
			t.WriteText(w)
			t.WriteWords(w)
		}
	default:
		w.WriteString(c.texts[s.Name][form])
	}
	return nil
}
