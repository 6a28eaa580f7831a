package model

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/report"
)

// describeLayers lists the layers of a neural network.
func describeLayers(m *coreml.Model) ([]Layer, error) {
	layers, err := m.Layers()
	if err != nil {
		return nil, err
	}
	list := make([]Layer, len(layers))
	for i, l := range layers {
		list[i] = Layer{l.Name, cmp.Or(l.Kind, "none"), append([]string{}, l.Inputs...), append([]string{}, l.Outputs...), l.Depth}
	}
	return list, nil
}

// writeLayers writes one line for each layer, those of branches and loops further to the right.
func writeLayers(w io.Writer, indent string, layers []Layer) {
	if len(layers) == 0 {
		return
	}
	fmt.Fprintf(w, "%s  %s\n", indent, report.Count(len(layers), "layer"))
	var rows [][]string
	for _, l := range layers {
		rows = append(rows, []string{
			strings.Repeat("  ", l.Depth) + l.Kind, l.Name,
			strings.TrimSpace(strings.Join(l.Inputs, ", ") + " → " + strings.Join(l.Outputs, ", ")),
		})
	}
	report.Columns(w, indent+"    ", rows)
}
