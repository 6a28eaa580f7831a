package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/td"
)

// selectOwnTasks makes a program of the chip's own tasks of a segment for a target of version 7. In a segment with a layer
// whose encoding is not certain, emission chooses layer by layer.
func selectOwnTasks(s *Segment) error {
	if taskVersion(s.Target) != td.V7 {
		return nil
	}
	p, err := emitV7(s.Graph, s.Outputs)
	if err == nil && len(p.list) > 0 && !(s.exactFunctions && p.Tables) {
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
