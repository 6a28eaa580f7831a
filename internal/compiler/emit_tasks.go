package compiler

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// emitTasks makes operations of the layers of the plan, in their order. Its error is about all layers that become none.
//
//	plan     %y = Neuron(%x) Type=relu        %x in port 0, %y in scratch at 64
//	tasks    0 NEBypass y=base 3+64 x=base 4, ACTIVATION relu
func emitTasks(s *Segment) error {
	e := planned{s}
	var tasks []*td.Op
	var from []*anec.Layer
	var refused []error
	for _, l := range s.Plan.Layers {
		for _, v := range append(l.Reads(), l.Tops...) {
			if _, ok := s.Plan.Places[v]; !ok {
				return &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: fmt.Errorf("value %q has no place", v.Name)}
			}
		}
		ops, err := emitLayer(l, e.operand)
		if err != nil {
			refused = append(refused, err)
		}
		tasks = append(tasks, ops...)
		for range ops {
			from = append(from, l)
		}
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	for i, op := range tasks {
		op.ID = uint16(i) // it counts on from 0 after 65,535: the order of the list is what runs
	}
	s.Tasks, s.TaskLayers = tasks, from
	return nil
}

// planned finds the operands of values by the plan of a segment.
type planned struct{ *Segment }

func (p planned) operand(v *anec.Value) td.Operand {
	place := p.Plan.Places[v]
	o := td.Operand{
		Base: base(place), Offset: place.Offset, Type: v.Type.DType, Interleave: 1, Dims: v.Type.Dims, Strides: place.Strides,
	}
	if o.Type.SubByte() {
		o.Strides = [td.NumAxes]int64{} // its elements lie packed
	}
	return o
}

// base is the entry of the base-address table that a place counts from.
func base(p Place) uint16 {
	switch p.Region {
	case InDerived:
		return hwx.BaseDerived
	case InConstants:
		return hwx.BaseTextConst
	case InWeights:
		return hwx.BaseConst
	case InPort:
		return hwx.BasePorts + uint16(p.Port)
	}
	return hwx.BaseScratch
}
