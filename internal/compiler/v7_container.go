package compiler

import (
	"errors"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/td"
)

// selectOwnTasks makes a program of the chip's own tasks of a segment for a target of version 7, if they are all for one
// layer: its ports and constants are then where Apple's compiler has them. Several layers are scheduled, get memory by
// the plan, and emission chooses for each of them.
func selectOwnTasks(s *Segment) error {
	if taskVersion(s.Target) != td.V7 {
		return nil
	}
	p, err := emitV7(s.Graph, machineOf(s), s.Outputs, 1)
	if errors.Is(err, errSeveralLayers) {
		return nil
	}
	if err == nil && len(p.list) > 0 && !(s.exactFunctions && p.Tables) && !(s.otherCrops && p.Crops) {
		s.own = p
	}
	s.notOwn = err
	return nil
}

// otherCrops reports whether the profile of numerics that a job asks for has another gain of slices along W than its target.
// Tasks of version 7 have the target's.
func (job *Job) otherCrops() bool {
	n, err := hal.ParseNumerics(job.Numerics)
	return err == nil && n.WidthSliceGain != job.Target.Numerics.WidthSliceGain
}

// exactFunctions reports whether the profile of numerics that a job asks for has functions computed where its target has
// tables of knots. Tasks of version 7 have nothing but the table.
func (job *Job) exactFunctions() bool {
	n, err := hal.ParseNumerics(job.Numerics)
	return err == nil && job.Target.Numerics.TableFromKnots && !n.TableFromKnots
}
