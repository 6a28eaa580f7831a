package bundle

import (
	"cmp"
	"fmt"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
)

// OfContainer makes a bundle in memory of one container: its program is the one
// function, with the ports as features, arrays N, C, H, W under the names that
// hwx.Symbols gives them, and one engine segment.
//
//	x ─AneInference─ y     no casts: the features are the ports
//
// numerics is the profile that the program runs with. The container is not copied,
// and must stay open as long as the bundle is in use.
func OfContainer(file *hwx.File, numerics string) (*Bundle, error) {
	target, err := file.Target()
	if err != nil {
		return nil, err
	}
	program, err := file.Program()
	if err != nil {
		return nil, err
	}
	ports, err := file.Ports()
	if err != nil {
		return nil, err
	}
	name := cmp.Or(program.Name, "main")
	f, described := Function{Name: name}, e5.NewFunction(name)
	var inputs, outputs []e5.Operand
	for i, symbol := range hwx.Symbols(ports) {
		p := &ports[i]
		layout, err := e5.Dense(p.Element.DType(), p.Shape[:]...)
		if err != nil {
			return nil, fmt.Errorf("port %q: %w", p.Name, err)
		}
		_, size, _ := layout.Dense()
		port := e5.IOPort{Name: symbol, ByteSize: uint64(size)}
		operand := e5.Operand{Symbol: symbol, Tensor: layout}
		feature := Feature{Name: symbol, Kind: "array", Array: &Array{Type: p.Element.DType().String(), Shape: p.Shape[:]}}
		if p.Direction != hwx.Out {
			described.Inputs, inputs = append(described.Inputs, port), append(inputs, operand)
		}
		if p.Direction != hwx.In {
			described.Outputs, outputs = append(described.Outputs, port), append(outputs, operand)
		}
		switch p.Direction {
		case hwx.In:
			f.Inputs = append(f.Inputs, feature)
		case hwx.Out:
			f.Outputs = append(f.Outputs, feature)
		default:
			feature.Kind = "state"
			f.States = append(f.States, feature)
		}
	}
	path := ContainerPath(0)
	op := described.Add(inputs, outputs, e5.AneInferenceAttrs{ProcedureName: program.Name, ProgramSymbol: path})
	f.Segments = []Segment{{Operation: op.Name, Backend: Engine, Container: path, Procedure: program.Name}}
	return New(Manifest{Target: target.Name, Numerics: numerics, Functions: []Function{f}},
		&e5.Program{Functions: []*e5.Function{described}}, map[string]*hwx.File{path: file}, "", nil)
}
