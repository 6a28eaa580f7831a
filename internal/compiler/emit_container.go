package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// emitContainer makes the container of a segment. The weight file is not in it: the loader binds it.
func emitContainer(s *segment.Segment) error {
	if len(s.Tasks) == 0 && len(s.Outputs) == 0 {
		return nil // nothing to do, and nobody waits for it
	}
	file, err := containerOf(s, false)
	if err != nil {
		return err
	}
	s.File = file
	return nil
}

// refuseSegment makes an error about all operations of a segment, which are then the host's.
func refuseSegment(s *segment.Segment, err error) error {
	e := &anec.LayerError{Layer: s.Name, Err: err}
	for _, l := range s.Order {
		e.Kind, e.Origin = l.Kind(), segment.JoinOrigins(e.Origin, l.Origin)
	}
	return e
}

// containerOf makes the container: the task list, the ports in the order of the plan, memory for what tasks keep
// between them, constants. With its weights it stands alone; without, their section has a size and no bytes.
//
//	__DATA,__bss         plan.Scratch
//	__DATA,__derived     plan.Derived
//	__FVMLIB             a window for each port
//	__TEXT,__text        tasks
//	__TEXT,__const       plan.Constants
//	__KERN_0,__kern_0    the kernel streams of native tasks, if others are among them
//	__KERN_0 or _1       the weight file, if a task reads it
func containerOf(s *segment.Segment, withWeights bool) (*hwx.File, error) {
	spec, err := specOf(s, withWeights)
	if err != nil {
		return nil, err
	}
	if s.Target.Form2020 && s.Alone {
		if err := as2020(spec); err != nil {
			return nil, err
		}
	}
	return hwx.Build(*spec)
}

func specOf(s *segment.Segment, withWeights bool) (*hwx.Spec, error) {
	spec := &hwx.Spec{
		Form: hwx.Form2026, Subtype: s.Target.Container().CPUSubtype, Program: s.Name,
		Scratch: uint64(s.ScratchBytes()), Derived: uint64(s.Plan.Derived), Constants: s.Plan.Constants,
	}
	switch {
	case s.Alone && len(s.Packed.Data) == 0:
		spec.Constants = make([]byte, s.Target.Sizes.PageSize) // as Apple's compiler has it
	case s.Alone:
		spec.Constants = s.Packed.Data
	case len(s.Packed.Data) > 0:
		spec.KernelSection = s.Packed.Data
	}
	if spec.Constants == nil {
		spec.Constants = []byte{}
	}
	ports := s.Plan.Ports
	for i, p := range ports {
		port, err := portSpec(p, s.Target)
		if err != nil {
			return nil, err
		}
		spec.Ports = append(spec.Ports, port)
		spec.Windows = append(spec.Windows, i) // so that port i is entry BasePorts+i
	}
	if n := hwx.BaseTextConst - hwx.BasePorts; len(spec.Ports) > n {
		return nil, refuseSegment(s, fmt.Errorf("its segment has %d ports: a container has entries for %d", len(spec.Ports), n))
	}
	tasks, err := encode.Of(s.Target)[0].Encode(s.Tasks)
	if err != nil {
		return nil, err
	}
	if s.Strict {
		if err := checkStrict(s); err != nil {
			return nil, err
		}
	}
	if err := spec.SetTasks(tasks); err != nil {
		return nil, err
	}
	switch {
	case !readsWeights(s):
	case !withWeights:
		spec.External = uint64(len(s.Weights))
	case len(s.Packed.Data) > 0:
		spec.WeightFile = s.Weights
	default:
		spec.KernelSection = s.Weights
	}
	return spec, nil
}

// as2020 lays a container out as Apple's compiler of 2020 did, if it has nothing that no file of that time has. Ports come with the
// outputs first:
//
//	threads      by name
//	windows      inputs in their order, then outputs
//	entries      outputs, then inputs: as the tasks count them
func as2020(spec *hwx.Spec) error {
	later := func(p hwx.PortSpec) bool { return p.Direction == hwx.InOut }
	if spec.Scratch != 0 || spec.Derived != 0 || len(spec.Foreign) > 0 || slices.ContainsFunc(spec.Ports, later) {
		return nil
	}
	spec.Form = hwx.Form2020
	order := spec.Windows
	slices.SortStableFunc(order, func(i, j int) int { return int(spec.Ports[i].Direction) - int(spec.Ports[j].Direction) })
	names := slices.Clone(order)
	slices.SortFunc(names, func(i, j int) int { return strings.Compare(spec.Ports[i].Name, spec.Ports[j].Name) })
	ports := make([]hwx.PortSpec, len(names))
	spec.Windows = make([]int, len(order))
	for thread, i := range names {
		ports[thread] = spec.Ports[i]
		spec.Windows[slices.Index(order, i)] = thread
	}
	spec.Ports = ports
	tasks, err := td.DecodeStream(spec.TaskVersion, spec.Text, 0, spec.FirstTaskWords)
	if err != nil {
		return err
	}
	spec.Relocs = hwx.KernelRelocs(tasks)
	spec.Kernels = kernelSymbols(tasks)
	return nil
}

// kernelSymbols names the streams of the kernels that tasks load.
func kernelSymbols(tasks []td.Placed) (list []hwx.KernelSpec) {
	for _, t := range tasks {
		kernels := td.LayoutOf(t.Version).Kernels
		if kernels == nil {
			continue
		}
		var k hwx.KernelSpec
		for _, s := range kernels.Streams {
			if on, _ := t.Get(s.Enable); on != 0 {
				offset, _ := t.Get(s.Offset)
				k.Offsets = append(k.Offsets, uint64(offset))
			}
		}
		if k.Offsets != nil {
			list = append(list, k)
		}
	}
	return list
}

// Container makes the container with its weights in it, such that it stands alone. No cast stands before its ports, so they
// have the names of the features.
func Container(s *segment.Segment) (*hwx.File, error) { return containerOf(withFeatureNames(s), true) }

// LinkContainer makes one container of functions that are a segment each. Several are its procedures, under their own names, and
// share the weight file.
func LinkContainer(functions []*Function) (*hwx.File, error) {
	if len(functions) == 1 {
		return Container(functions[0].Segments[0])
	}
	specs := make([]hwx.Spec, len(functions))
	for i, f := range functions {
		spec, err := specOf(withFeatureNames(f.Segments[0]), true)
		if err != nil {
			return nil, err
		}
		spec.Program = f.Name
		specs[i] = *spec
	}
	return hwx.Build(specs...)
}

// withFeatureNames is the segment with ports that have the names of the features.
func withFeatureNames(s *segment.Segment) *segment.Segment {
	alone := *s
	plan := *s.Plan
	plan.Ports = featureNames(plan.Ports)
	alone.Plan = &plan
	return &alone
}

// featureNames takes the mark of the engine's side off the names of ports, unless two would then be the same.
func featureNames(ports []segment.Port) []segment.Port {
	taken := map[string]bool{}
	for _, p := range ports {
		taken[p.Name] = true
	}
	ports = slices.Clone(ports)
	for i := range ports {
		if name := strings.TrimSuffix(ports[i].Name, engineSuffix); !taken[name] {
			taken[name] = true
			ports[i].Name = name
		}
	}
	return ports
}

// portSpec describes a port. A container has four axes: batch and depth, which lie side by side, are one.
func portSpec(p segment.Port, target *hal.Target) (hwx.PortSpec, error) {
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
	strides := hwx.DenseStrides(element, shape)
	if !p.Value.Type.DType.SubByte() {
		layout, _ := segment.PortLayout(p.Value.Type, target)
		for i := range strides {
			strides[i] = uint64(layout[i+1])
		}
	}
	return hwx.PortSpec{Name: p.Name, Direction: direction, Element: element, Shape: shape, Strides: strides}, nil
}

// readsWeights reports whether a task reads the weight file.
func readsWeights(s *segment.Segment) bool {
	base := s.WeightsBase()
	for i := range s.Tasks {
		op := s.Tasks[i].Op
		if op == nil {
			continue
		}
		for k := range op.Operands {
			if o := &op.Operands[k]; o.Present() && o.Base == base {
				return true
			}
		}
	}
	return false
}
