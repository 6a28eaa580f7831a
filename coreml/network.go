package coreml

import (
	"fmt"
	"io/fs"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// Layer is a layer of a neural network, the kind of model that ML programs took the place of.
type Layer struct {
	Name            string
	Kind            string // as the specification spells it: "convolution"
	Inputs, Outputs []string
	Depth           int // of the branches and loops that it is in
}

const (
	maxLayers     = 1 << 20 // real networks have some thousands
	maxLayerDepth = 16      // of branches and loops in each other
)

// IsNetwork reports whether models of the type are neural networks.
func (t Type) IsNetwork() bool {
	return t == NeuralNetwork || t == NeuralNetworkClassifier || t == NeuralNetworkRegressor
}

// Remedy says what to do with a model that has no program; "" if nothing is known.
func (t Type) Remedy() string {
	if !t.IsNetwork() {
		return ""
	}
	return `convert the model that it was made of again, to an ML program: coremltools.convert(model, convert_to="mlprogram", minimum_deployment_target=coremltools.target.iOS15)`
}

// Layers lists the layers of a neural network in the order of the file, those of a branch or loop after it. Other models have none,
// and neither have compiled networks, whose layers are not in the specification.
func (m *Model) Layers() (list []Layer, err error) {
	if !m.Type.IsNetwork() {
		return nil, nil
	}
	if m.file.closed.Load() {
		return nil, &fs.PathError{Op: "read", Path: m.file.name, Err: fs.ErrClosed}
	}
	defer osfile.Protect().Catch(&err)
	if err := appendLayers(&list, m.body, 0); err != nil {
		return nil, inFile(m.file.name, under(m.Type.String(), err))
	}
	return list, nil
}

// appendLayers adds the layers of a message NeuralNetwork, or of one with the same field: a classifier or regressor.
func appendLayers(list *[]Layer, network message, depth int) error {
	if depth > maxLayerDepth {
		return damage(network.at, "branches and loops are nested more than %d deep", maxLayerDepth)
	}
	f := network.fields()
	for i := 0; f.next(); {
		if f.num != 1 {
			continue
		}
		if len(*list) >= maxLayers {
			f.fail("layers", "the network has more than %d layers", maxLayers)
			break
		}
		layer := f.message("layers")
		if f.err == nil {
			f.wrapAt("layers", i, appendLayer(list, layer, depth))
		}
		i++
	}
	return f.err
}

func appendLayer(list *[]Layer, raw message, depth int) error {
	l := Layer{Depth: depth}
	var bodies []message
	f := raw.fields()
	for f.next() {
		switch {
		case f.num == 1:
			l.Name = f.text("name")
		case f.num == 2:
			l.Inputs = append(l.Inputs, f.text("input"))
		case f.num == 3:
			l.Outputs = append(l.Outputs, f.text("output"))
		case f.num >= 100 && f.typ == protowire.BytesType:
			l.Kind = layerKinds[int(f.num)]
			if l.Kind == "" {
				l.Kind = fmt.Sprintf("layer type %d", f.num)
			}
			bodies = append(bodies, nestedNetworks(l.Kind, f.message(l.Kind))...)
		}
	}
	if f.err != nil {
		return f.err
	}
	*list = append(*list, l)
	for _, b := range bodies {
		if err := appendLayers(list, b, depth+1); err != nil {
			return under(l.Kind, err)
		}
	}
	return nil
}

// nestedNetworks are those of a branch (if, else) or a loop (condition, body).
func nestedNetworks(kind string, params message) []message {
	first, last := protowire.Number(1), protowire.Number(2)
	switch kind {
	case "branch":
	case "loop":
		first, last = 3, 4
	default:
		return nil
	}
	var list []message
	f := params.fields()
	for f.next() {
		if f.num >= first && f.num <= last && f.typ == protowire.BytesType {
			list = append(list, f.message(kind))
		}
	}
	return list
}
