package main

import (
	"fmt"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
)

// inspectContainer describes a hardware container: its ports as features, and how many tasks it has.
func inspectContainer(path string) (r inspectReport, err error) {
	file, err := hwx.Open(path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	r.Model, r.Format, r.Type = path, "hardware container", "program"
	if err := r.describeContainer(file); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *inspectReport) describeContainer(file *hwx.File) error {
	target, err := file.Target()
	if err != nil {
		return err
	}
	version, err := file.TaskVersion()
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
	tasks, err := file.Tasks()
	if err != nil {
		return err
	}
	r.Target = target.Name
	f := functionReport{Name: program.Name, Default: true, Inputs: []featureReport{}, Outputs: []featureReport{}, Tasks: len(tasks)}
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
	r.Functions = []functionReport{f}
	explainer := newTaskExplainer(file, version)
	for i, t := range tasks {
		explainer.task(i, t)
	}
	r.Weights.Parameters = explainer.parameters
	return nil
}
