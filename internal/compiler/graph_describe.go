package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/internal/anec"
)

// What the descriptor and the manifest say of a graph. Its ports are those of the segments: no cast stands between.

// descriptor makes the E5 function: one inference for each segment.
//
//	x ─AneInference─ a ─AneInference─ y
func (g *graphFunction) descriptor(f *Function, containers []string) *e5.Function {
	d := e5.NewFunction(f.Name)
	for _, p := range g.inputs {
		d.Inputs = append(d.Inputs, p.ioPort())
	}
	for _, p := range g.states {
		d.Inputs, d.Outputs = append(d.Inputs, p.ioPort()), append(d.Outputs, p.ioPort())
	}
	for _, p := range g.outputs {
		d.Outputs = append(d.Outputs, p.ioPort())
	}
	for i, part := range g.parts {
		var inputs, outputs []e5.Operand
		for _, p := range part.inputs {
			inputs = append(inputs, p.operand())
		}
		for _, p := range part.states {
			inputs = append(inputs, p.operand())
			if writesPort(f.Segments[i], p.symbol) {
				outputs = append(outputs, p.operand())
			}
		}
		for _, p := range part.outputs {
			outputs = append(outputs, p.operand())
		}
		d.Add(inputs, outputs, e5.AneInferenceAttrs{ProcedureName: f.Segments[i].Name, ProgramSymbol: containers[i]})
	}
	return d
}

// describe says in the manifest what the function takes, gives and keeps.
func (g *graphFunction) describe(f *bundle.Function) {
	f.Inputs, f.Outputs, f.States = features(g.inputs, "array"), features(g.outputs, "array"), features(g.states, "state")
}

func features(ports []graphPort, kind string) []bundle.Feature {
	var list []bundle.Feature
	for _, p := range ports {
		list = append(list, bundle.Feature{Name: p.symbol, Kind: kind, Array: &bundle.Array{Type: p.typ.DType.String(), Shape: p.shape()}})
	}
	return list
}

// shape is that of the array that a caller has: N, C, H, W as for a container, or N, D, C, H, W where there is a depth.
func (p graphPort) shape() []int {
	d := p.typ.Dims
	if d[anec.D] == 1 {
		return []int{d[anec.N], d[anec.C], d[anec.H], d[anec.W]}
	}
	return d[:]
}

func (p graphPort) ioPort() e5.IOPort {
	size, _ := p.typ.Bytes()
	return e5.IOPort{Name: p.symbol, ByteSize: uint64(size)}
}

func (p graphPort) operand() e5.Operand {
	dense, err := e5.Dense(p.typ.DType, p.shape()...)
	if err != nil {
		panic("bug: " + err.Error()) // check has seen to it
	}
	return e5.Operand{Symbol: p.symbol, Tensor: dense}
}

// check refuses what no port of a container can hold.
func (p graphPort) check() error {
	if _, ok := e5.StorageTypeOf(p.typ.DType); !ok || p.typ.DType.SubByte() {
		return fmt.Errorf("%q is of %v: a port has elements of whole bytes", p.symbol, p.typ.DType)
	}
	return nil
}
