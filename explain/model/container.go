package model

import (
	"fmt"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/task"
	"github.com/espalier-ane/espalier/hwx"
)

// describeContainer describes a hardware container: its ports as features, and how many tasks it has.
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
	program, err := file.Program()
	if err != nil {
		return err
	}
	ports, err := file.Ports()
	if err != nil {
		return err
	}
	var weights task.Counter
	tasks, err := weights.Add(file, "", "")
	if err != nil {
		return err
	}
	r.Target = target.Name
	f := Function{Name: program.Name, Default: true, Inputs: []Feature{}, Outputs: []Feature{}, Tasks: tasks}
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
	r.Functions = []Function{f}
	r.Weights.Parameters = weights.Parameters
	return nil
}
