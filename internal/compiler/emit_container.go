package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// emitContainer makes the container of a segment. The weight file is not in it: the loader binds it.
func emitContainer(s *Segment) error {
	file, err := s.container(false)
	if err != nil {
		return err
	}
	s.File = file
	return nil
}

// container makes the container: the task list, the ports in the order of the plan, memory for what tasks keep
// between them, constants. With its weights it stands alone; without, their section has a size and no bytes.
//
//	__DATA,__bss         plan.Scratch
//	__DATA,__derived     plan.Derived
//	__FVMLIB             a window for each port
//	__TEXT,__text        tasks
//	__TEXT,__const       plan.Constants
//	__KERN_0,__kern_0    the weight file, if a task reads it
func (s *Segment) container(withWeights bool) (*hwx.File, error) {
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: s.Target.CPUSubtype, Program: s.Name,
		Scratch: uint64(s.Plan.Scratch), Derived: uint64(s.Plan.Derived), Constants: s.Plan.Constants, Tasks: len(s.Tasks),
	}
	if spec.Constants == nil {
		spec.Constants = []byte{}
	}
	for i, p := range s.Plan.Ports {
		port, err := portSpec(p)
		if err != nil {
			return nil, err
		}
		spec.Ports = append(spec.Ports, port)
		spec.Windows = append(spec.Windows, i) // so that port i is entry BasePorts+i
	}
	if n := hwx.BaseTextConst - hwx.BasePorts; len(spec.Ports) > n {
		return nil, fmt.Errorf("%d ports: a container has entries for %d", len(spec.Ports), n)
	}
	if err := setTasks(&spec, s.Tasks); err != nil {
		return nil, err
	}
	if readsWeights(s.Tasks) {
		if withWeights {
			spec.KernelSection = s.Weights
		} else {
			spec.External = uint64(len(s.Weights))
		}
	}
	return hwx.Build(spec)
}

// Container makes the container with its weights in it, such that it stands alone.
func (s *Segment) Container() (*hwx.File, error) { return s.container(true) }

// portSpec describes a port. A container has four axes: batch and depth, which lie side by side, are one.
func portSpec(p Port) (hwx.PortSpec, error) {
	element, err := hwx.ElementOf(p.Value.Type.DType)
	if err != nil {
		return hwx.PortSpec{}, fmt.Errorf("port %q: %w", p.Name, err)
	}
	direction := hwx.In
	switch {
	case p.In && p.Out:
		direction = hwx.InOut
	case p.Out:
		direction = hwx.Out
	}
	d := p.Value.Type.Dims
	shape := [4]uint32{uint32(d[0] * d[1]), uint32(d[2]), uint32(d[3]), uint32(d[4])}
	return hwx.PortSpec{
		Name: p.Name, Direction: direction, Element: element, Shape: shape, Strides: hwx.DenseStrides(element, shape),
	}, nil
}

// setTasks encodes the task list.
func setTasks(spec *hwx.Spec, ops []*td.Op) error {
	if len(ops) == 0 {
		return fmt.Errorf("nothing to do: a program has one task or more")
	}
	tasks := make([]*td.Task, len(ops))
	for i, op := range ops {
		t, err := op.Task(td.V256)
		if err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
		for _, flag := range []struct {
			field *td.Field
			set   bool
		}{{td.V7NotFirst, i > 0}, {td.V7Last, i == len(ops)-1}} {
			if flag.set {
				if err := t.Set(flag.field, 1); err != nil {
					return fmt.Errorf("task %d: %w", i, err)
				}
			}
		}
		tasks[i] = t
	}
	text, err := td.EncodeStream(tasks)
	if err != nil {
		return err
	}
	first, err := tasks[0].Encode()
	if err != nil {
		return err
	}
	spec.Text, spec.FirstTaskWords = text, len(first)
	return nil
}

func readsWeights(ops []*td.Op) bool {
	for _, op := range ops {
		for i := range op.Operands {
			if o := &op.Operands[i]; o.Present() && o.Base == hwx.BaseConst {
				return true
			}
		}
	}
	return false
}
