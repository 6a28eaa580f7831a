package dump

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/tensor"
)

// A Bundle is a bundle: its manifest, its descriptor and its containers.
type Bundle struct {
	ID         string            `json:"id"`
	Manifest   *bundle.Manifest  `json:"manifest"`
	Descriptor *Descriptor       `json:"descriptor"`
	Containers []BundleContainer `json:"containers"`
	Host       string            `json:"host,omitempty"`
}

// A BundleContainer is a container of a bundle.
type BundleContainer struct {
	Path string `json:"path"`
	Container
}

func explainBundle(f *file) (Content, error) {
	b, err := bundle.Open(f.File)
	if err != nil {
		return nil, err
	}
	f.opened = append(f.opened, b)
	r := &Bundle{ID: b.ID(), Manifest: b.Manifest, Descriptor: newDescriptor(b.Program), Containers: []BundleContainer{}, Host: b.Host()}
	var broken error
	for _, part := range b.Manifest.Files {
		f.Size += part.Size
		if part.Role != bundle.RoleContainer {
			continue
		}
		c, err := newContainer(b.Container(part.Path))
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", part.Path, err))
		}
		if c != nil {
			r.Containers = append(r.Containers, BundleContainer{part.Path, *c})
		}
	}
	return r, broken
}

func (d *Bundle) writeText(w *bufio.Writer, h *Head) {
	m := d.Manifest
	h.writeText(w, "for "+m.Target, "numerics "+m.Numerics, "ID "+d.ID)
	if m.Generator != "" {
		fmt.Fprintf(w, "  written by %s\n", report.Printable(m.Generator))
	}
	fmt.Fprintln(w, "files")
	var rows [][]string
	for _, f := range m.Files {
		rows = append(rows, []string{f.Path, f.Role, report.Count(int(f.Size), "byte"), "SHA-256 " + f.SHA256})
	}
	report.Columns(w, "  ", rows)
	if p := m.Pipeline; p != nil {
		fmt.Fprintf(w, "pipeline %s\n", report.Printable(p.Name))
		rows = nil
		for _, d := range p.Inputs {
			rows = append(rows, []string{"in", d.Name, featureText(d), d.Description})
		}
		for _, d := range p.Outputs {
			rows = append(rows, []string{"out", d.Name, featureText(d), d.Description})
		}
		for _, name := range p.Stages {
			rows = append(rows, []string{"stage", name, "", ""})
		}
		report.Columns(w, "  ", rows)
	}
	for _, f := range m.Functions {
		fmt.Fprintf(w, "function %s\n", report.Printable(f.Name))
		rows = nil
		for _, list := range []struct {
			title    string
			features []bundle.Feature
		}{{"in", f.Inputs}, {"out", f.Outputs}, {"state", f.States}} {
			for _, d := range list.features {
				rows = append(rows, []string{list.title, d.Name, featureText(d), d.Description})
			}
		}
		for _, s := range f.Segments {
			what := "procedure " + s.Procedure + " of " + s.Container
			if s.Weights != "" {
				what += ", weights in " + s.Weights
			}
			if s.Backend == bundle.Host {
				what = "function " + s.Function + " of " + bundle.HostPath
			}
			rows = append(rows, []string{s.Backend, s.Operation, what})
		}
		if c := f.Classifier; c != nil {
			classes := "its classes are not listed"
			if n := len(c.Texts) + len(c.Numbers); n > 0 {
				classes = report.CountOf(n, "class", "classes")
			}
			rows = append(rows, []string{"classifier", c.Label, classes, c.Probabilities})
		}
		report.Columns(w, "  ", rows)
	}
	if len(m.Weights) > 0 {
		fmt.Fprintln(w, "weights")
	}
	rows = nil
	for _, weight := range m.Weights {
		kind := "raw bytes"
		if weight.Type != "" {
			kind = fmt.Sprintf("%s %v", weight.Type, weight.Shape)
		}
		if weight.Mutable {
			kind += ", mutable"
		}
		rows = append(rows, []string{weight.Name, kind, report.Count(int(weight.Size), "byte"), fmt.Sprintf("at 0x%x of %s", weight.Offset, weight.File)})
	}
	report.Columns(w, "  ", rows)
	fmt.Fprintf(w, "\n%s\n", bundle.ProgramPath)
	d.Descriptor.writeBody(w)
	for i := range d.Containers {
		c := &d.Containers[i]
		fmt.Fprintf(w, "\n%s\n  hardware container, %s\n", report.Printable(c.Path), c.targetText())
		c.writeBody(w)
	}
	if d.Host != "" {
		fmt.Fprintf(w, "\n%s\n", bundle.HostPath)
		for line := range strings.Lines(d.Host) {
			fmt.Fprintf(w, "  %s\n", report.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
}

// featureText is the type of a feature of a bundle.
func featureText(f bundle.Feature) string {
	text := f.Kind
	switch {
	case f.Array != nil:
		text = fmt.Sprintf("%s %s %v", f.Array.Type, f.Kind, tensor.ShapeOf(f.Array.Shape...))
	case f.Image != nil:
		text = fmt.Sprintf("%s image %d × %d", f.Image.ColorSpace, f.Image.Width, f.Image.Height)
	case f.Elem != "":
		text += " of " + f.Elem
	}
	if f.Optional {
		text += ", optional"
	}
	return text
}
