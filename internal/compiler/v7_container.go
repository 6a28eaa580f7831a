package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// selectOwnTasks makes the chip's own tasks of a segment for a target of version 7. A segment with a layer whose encoding
// is not certain stays as it is, and its tasks become extensions.
func selectOwnTasks(s *Segment) error {
	if taskVersion(s.Target) != td.V7 {
		return nil
	}
	p, err := emitV7(s.Graph, s.Outputs)
	if err == nil && len(p.Tasks) > 0 && !(s.exactFunctions && p.Tables) {
		s.own = p
	}
	s.notOwn = err
	return nil
}

// exactFunctions reports whether the profile of numerics that a job asks for has functions computed where its target has
// tables of knots. Tasks of version 7 have nothing but the table.
func (job *Job) exactFunctions() bool {
	n, err := hal.ParseNumerics(job.Numerics)
	return err == nil && job.Target.Numerics.TableFromKnots && !n.TableFromKnots
}

// TaskCount is how many tasks the segment has.
func (s *Segment) TaskCount() int {
	if s.own != nil {
		return len(s.own.Tasks)
	}
	return len(s.Tasks)
}

// ownContainer makes the container of the chip's own tasks. Weights are in it, packed as the chip reads them.
func (s *Segment) ownContainer() (*hwx.File, error) {
	spec, err := s.own.spec(s.Name, s.Target)
	if err != nil {
		return nil, err
	}
	return hwx.Build(spec)
}

// spec describes the container of a program: ports in the order of their entries in the base-address table.
func (p *v7Program) spec(name string, target *hal.Target) (hwx.Spec, error) {
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: target.Container().CPUSubtype, Program: name,
		Scratch: uint64(p.Scratch), Constants: p.Constants,
	}
	for i, port := range p.Ports {
		described, err := portSpec(port, target)
		if err != nil {
			return spec, err
		}
		spec.Ports = append(spec.Ports, described)
		spec.Windows = append(spec.Windows, i)
	}
	return spec, spec.SetTasks(p.Tasks)
}
