package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/tensor"
)

// The types of this file are the schema of dump --json for bundles; docs/json.md explains them.

type bundleDump struct {
	dumpHead
	ID         string            `json:"id"`
	Manifest   *bundle.Manifest  `json:"manifest"`
	Descriptor descriptorReport  `json:"descriptor"`
	Containers []bundleContainer `json:"containers"`
	Host       string            `json:"host,omitempty"`
}

type bundleContainer struct {
	Path string `json:"path"`
	containerReport
}

func explainBundle(d *dumpFile) (explanation, error) {
	b, err := bundle.Open(d.File)
	if err != nil {
		return nil, err
	}
	d.opened = append(d.opened, b)
	r := &bundleDump{dumpHead: d.dumpHead, ID: b.ID(), Manifest: b.Manifest, Descriptor: newDescriptorReport(b.Program), Containers: []bundleContainer{}, Host: b.Host()}
	var broken error
	for _, f := range b.Manifest.Files {
		r.Size += f.Size
		if f.Role != bundle.RoleContainer {
			continue
		}
		c, err := newContainerReport(b.Container(f.Path))
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", f.Path, err))
		}
		if c != nil {
			r.Containers = append(r.Containers, bundleContainer{f.Path, *c})
		}
	}
	return r, broken
}

func (d *bundleDump) print(w *bufio.Writer) {
	m := d.Manifest
	d.printHead(w, "for "+m.Target, "numerics "+m.Numerics, "ID "+d.ID)
	if m.Generator != "" {
		fmt.Fprintf(w, "  written by %s\n", printable(m.Generator))
	}
	fmt.Fprintln(w, "files")
	var rows [][]string
	for _, f := range m.Files {
		rows = append(rows, []string{f.Path, f.Role, plural(int(f.Size), "byte"), "SHA-256 " + f.SHA256})
	}
	printColumns(w, "  ", rows)
	for _, f := range m.Functions {
		fmt.Fprintf(w, "function %s\n", printable(f.Name))
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
				classes = pluralOf(n, "class", "classes")
			}
			rows = append(rows, []string{"classifier", c.Label, classes, c.Probabilities})
		}
		printColumns(w, "  ", rows)
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
		rows = append(rows, []string{weight.Name, kind, plural(int(weight.Size), "byte"), fmt.Sprintf("at 0x%x of %s", weight.Offset, weight.File)})
	}
	printColumns(w, "  ", rows)
	fmt.Fprintf(w, "\n%s\n", bundle.ProgramPath)
	d.Descriptor.print(w)
	for i := range d.Containers {
		c := &d.Containers[i]
		fmt.Fprintf(w, "\n%s\n  hardware container, %s\n", printable(c.Path), c.targetText())
		c.containerReport.print(w)
	}
	if d.Host != "" {
		fmt.Fprintf(w, "\n%s\n", bundle.HostPath)
		for line := range strings.Lines(d.Host) {
			fmt.Fprintf(w, "  %s\n", printable(strings.TrimSuffix(line, "\n")))
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
