package model

import (
	"fmt"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/task"
	"github.com/espalier-ane/espalier/hwx"
)

// describeContainer describes a hardware container: its procedures as functions with their ports as features, and how many tasks
// each has.
func describeContainer(path string) (*Report, error) {
	file, err := hwx.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &Report{}
	r.Model, r.Format, r.Type = path, "hardware container", "program"
	if err := r.addContainer(file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *Report) addContainer(file *hwx.File) error {
	target, err := file.Target()
	if err != nil {
		return err
	}
	procedures, err := file.Procedures()
	if err != nil {
		return err
	}
	r.Target = target.Name
	var weights task.Counter
	for i, p := range procedures {
		f, err := describeProcedure(p, &weights)
		if err != nil {
			return err
		}
		f.Default = i == 0
		r.Functions = append(r.Functions, f)
	}
	r.Weights.Parameters = weights.Parameters
	return nil
}

func describeProcedure(procedure *hwx.Procedure, weights *task.Counter) (Function, error) {
	f := Function{Name: procedure.Name, Inputs: []Feature{}, Outputs: []Feature{}}
	ports, err := procedure.Ports()
	if err != nil {
		return f, err
	}
	if f.Tasks, err = weights.Add(procedure, "", ""); err != nil {
		return f, err
	}
	for _, p := range ports {
		d := describeFeatures([]coreml.Feature{{Name: p.Name, Type: &coreml.ArrayType{DType: p.Element.DType(), Shape: p.Shape[:]}}})
		switch p.Direction {
		case hwx.In:
			f.Inputs = append(f.Inputs, d...)
		case hwx.Out:
			f.Outputs = append(f.Outputs, d...)
		default:
			f.States = append(f.States, d...)
		}
	}
	return f, nil
}
