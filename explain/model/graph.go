package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/graphfile"
)

// DescribeGraphs describes a file of graphs that is open: the ports and layers of each, and what their constants are.
func DescribeGraphs(path string, file *graphfile.File) (*Report, error) {
	r := &Report{Model: path, Warnings: report.Warnings(file.Warnings)}
	r.Format, r.Type = file.Format, "graph of native layers"
	types := map[string]*WeightType{}
	for _, name := range file.Names() {
		data, err := file.Bytes(name)
		if err != nil {
			return nil, err
		}
		r.Weights.Files = append(r.Weights.Files, WeightFile{Path: name, Size: int64(len(data))})
	}
	for i, p := range file.Procedures {
		f, err := describeGraph(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f.Default = i == 0
		r.Functions = append(r.Functions, f)
		for _, v := range p.Graph.Values {
			if v.Const != nil {
				n, _ := v.Type.Dims.Count()
				r.Weights.Parameters += n
				countStored(v.Const, types)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		r.Weights.Types = append(r.Weights.Types, *types[name])
	}
	return r, nil
}

func describeGraph(p graphfile.Procedure) (Function, error) {
	ports, err := compiler.DescribeGraph(p.Graph)
	if err != nil {
		return Function{}, err
	}
	d, err := espalier.DescribeFunction(&ports)
	if err != nil {
		return Function{}, err
	}
	f := Function{Name: p.Name, Inputs: describeFeatures(d.Inputs), Outputs: describeFeatures(d.Outputs), States: describeFeatures(d.States)}
	for _, l := range p.Graph.Order() {
		layer := Layer{Name: l.Name, Kind: l.Kind().String(), Inputs: []string{}, Outputs: []string{}}
		for _, v := range l.Reads() {
			layer.Inputs = append(layer.Inputs, v.Name)
		}
		for _, v := range l.Tops {
			layer.Outputs = append(layer.Outputs, v.Name)
		}
		f.Layers = append(f.Layers, layer)
	}
	return f, nil
}

// countStored counts a constant among those of its stored element type.
func countStored(c *anec.Constant, types map[string]*WeightType) {
	name := c.Stored.DType().String()
	if types[name] == nil {
		types[name] = &WeightType{DType: name}
	}
	t := types[name]
	t.Arrays++
	t.Elements += c.Stored.Len()
	t.Bytes += int64(c.StoredBytes())
}
