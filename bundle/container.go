package bundle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
)

// OfContainer makes a bundle in memory of one container: each of its procedures is
// a function, with the ports as features, arrays N, C, H, W under the names that
// hwx.Symbols gives them, and one engine segment.
//
//	x ─AneInference─ y                                  the features are the ports
//	x ─Cast─ x@port ─AneInference─ y@port ─Cast─ y      where there are gaps between rows
//
// numerics is the profile that the program runs with. The container is not copied,
// and must stay open as long as the bundle is in use.
func OfContainer(file *hwx.File, numerics string) (*Bundle, error) {
	target, err := file.Target()
	if err != nil {
		return nil, err
	}
	procedures, err := file.Procedures()
	if err != nil {
		return nil, err
	}
	m := Manifest{Target: target.Name, Numerics: numerics}
	program := &e5.Program{}
	for _, p := range procedures {
		f, described, err := ofProcedure(p)
		if err != nil {
			return nil, err
		}
		m.Functions, program.Functions = append(m.Functions, *f), append(program.Functions, described)
	}
	return New(m, program, map[string]*hwx.File{ContainerPath(0): file}, "", nil)
}

// ofProcedure describes a procedure as a function.
func ofProcedure(procedure *hwx.Procedure) (*Function, *e5.Function, error) {
	ports, err := procedure.Ports()
	if err != nil {
		return nil, nil, err
	}
	name := cmp.Or(procedure.Name, "main")
	f, described := &Function{Name: name}, e5.NewFunction(name)
	var inputs, outputs []e5.Operand
	var before, after [][2]e5.Operand // casts
	symbols := hwx.Symbols(ports)
	for i, symbol := range symbols {
		p := &ports[i]
		layout, err := e5.Dense(p.Element.DType(), p.Shape[:]...)
		if err != nil {
			return nil, nil, fmt.Errorf("port %q: %w", p.Name, err)
		}
		operand := e5.Operand{Symbol: symbol, Tensor: portTensor(p, layout.StorageType)}
		if p.Direction != hwx.InOut && !sideBySide(&operand.Tensor) {
			operand.Symbol = uncommon(symbol+"@port", symbols)
			dense := e5.Operand{Symbol: symbol, Tensor: layout}
			if p.Direction == hwx.In {
				before = append(before, [2]e5.Operand{dense, operand})
			} else {
				after = append(after, [2]e5.Operand{operand, dense})
			}
		} else {
			layout = operand.Tensor
		}
		_, _, size, _ := layout.Layout()
		port := e5.IOPort{Name: symbol, ByteSize: uint64(size), Tensor: layout}
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
	for _, c := range before {
		addCast(described, c)
	}
	op := described.Add(inputs, outputs, e5.AneInferenceAttrs{ProcedureName: procedure.Name, ProgramSymbol: path})
	for _, c := range after {
		addCast(described, c)
	}
	f.Segments = []Segment{{Operation: op.Name, Backend: Engine, Container: path, Procedure: procedure.Name}}
	return f, described, nil
}

// portTensor describes a port as it lies in the container.
func portTensor(p *hwx.Port, element e5.ElementType) e5.TensorDescriptor {
	var dim, stride [4]uint64
	for i := range dim {
		dim[i], stride[i] = uint64(p.Shape[i]), uint64(p.Strides[i])
	}
	return e5.NCHW(element, dim, stride)
}

// sideBySide reports whether there is nothing between elements, nor behind them.
func sideBySide(t *e5.TensorDescriptor) bool {
	_, dense, ok := t.Dense()
	_, _, size, _ := t.Layout()
	return ok && dense == size
}

// uncommon makes a symbol that no port has.
func uncommon(symbol string, taken []string) string {
	for slices.Contains(taken, symbol) {
		symbol += "_"
	}
	return symbol
}

func addCast(f *e5.Function, c [2]e5.Operand) {
	f.Add(c[:1], c[1:], e5.CastAttrs{Source: c[0].Tensor.StorageType, Destination: c[1].Tensor.StorageType, ComponentPack: 1})
}
