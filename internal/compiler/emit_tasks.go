package compiler

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// emitTasks makes tasks of the layers of the plan, in their order. On a chip whose registers are known, those whose encoding
// is certain get its own tasks. Its error is about all layers that become none.
//
//	plan     %y = Neuron(%x) Type=relu        %x in port 0, %y in scratch at 64
//	tasks    0 NEBypass y=base 3+64 x=base 4, ACTIVATION relu
func emitTasks(s *Segment) error {
	if s.own != nil {
		s.Tasks = s.own.list
		return nil
	}
	e := planned{s}
	own := s.mixOwnTasks()
	var refused []error
	for i, l := range s.Plan.Layers {
		if tasks, ok := own[i]; ok {
			for _, t := range tasks {
				if k := t.own.Kernel; k != nil && k.Producer >= 0 {
					k.Producer += len(s.Tasks) // it counted from the first task of the layer
				}
			}
			s.Tasks = append(s.Tasks, tasks...)
			continue
		}
		for _, v := range append(l.Reads(), l.Tops...) {
			if _, ok := s.Plan.Places[v]; !ok {
				return &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: fmt.Errorf("value %q has no place", v.Name)}
			}
		}
		ops, err := emitLayer(l, e.operand)
		if err != nil {
			refused = append(refused, err)
		}
		for _, op := range ops {
			op.ID = uint16(len(s.Tasks)) // it counts on from 0 after 65,535: the order of the list is what runs
			s.Tasks = append(s.Tasks, Task{Layer: l, Op: op})
		}
	}
	return errors.Join(refused...)
}

// planned finds the operands of values by the plan of a segment.
type planned struct{ *Segment }

func (p planned) operand(v *anec.Value) td.Operand {
	place := p.Plan.Places[v]
	o := td.Operand{
		Base: p.base(place), Offset: place.Offset, Type: v.Type.DType, Interleave: 1, Dims: v.Type.Dims, Strides: place.Strides,
	}
	if o.Type.SubByte() {
		o.Strides = [td.NumAxes]int64{} // its elements lie packed
	}
	return o
}

// base is the entry of the base-address table that a place counts from.
func (s planned) base(p Place) int {
	switch p.Region {
	case InDerived:
		return hwx.BaseDerived
	case InConstants:
		return hwx.BaseTextConst
	case InWeights:
		if s.streams != nil {
			return hwx.BaseWeights
		}
		return hwx.BaseConst
	case InPort:
		return hwx.BasePorts + p.Port
	}
	return hwx.BaseScratch
}
