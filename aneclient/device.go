package aneclient

import (
	"github.com/espalier-ane/espalier/internal/driver"
)

// A DeviceController is the device, as the owner of a program sees it: _ANEDeviceController.
type DeviceController struct {
	program *Program
}

// DeviceController finds the controller of a loaded program: +controllerWithProgramHandle:.
func (m *Model) DeviceController() (*DeviceController, error) {
	p, err := m.loaded()
	if err != nil {
		return nil, err
	}
	return &DeviceController{p}, nil
}

// ProgramHandle is that of the program.
func (d *DeviceController) ProgramHandle() uint64 { return d.program.Handle() }

// DeviceStatus is what a device is doing.
type DeviceStatus struct {
	State                        string // of the firmware's loop
	Running, Queued              int    // requests
	Programs, Processes, Clients int
	Done, Preempted, Aborted     uint64 // requests so far
}

// Status is what the device is doing now.
func (d *DeviceController) Status() DeviceStatus {
	device := d.program.client.driver.Device()
	s, n := device.Status(), device.Counts()
	return DeviceStatus{s.State.String(), s.Running, s.Queued, s.Programs, s.Processes, s.Client, n.Done, n.Preempted, n.Aborted}
}

// InstanceParameters are what another instance of a model is to be: _ANEModelInstanceParameters.
type InstanceParameters struct {
	Name string

	// Weights are constants of this instance alone, by procedure. They cannot be given yet.
	Weights map[int]*IOSurfaceObject
}

// NewInstance makes a model of the same program with queues of its own: its requests run beside those of the first, as far as the
// engine takes more than one: -loadModelNewInstance:options:modelInstParams:qos:error:. The model that it is of must stay loaded.
func (m *Model) NewInstance(params InstanceParameters) (*Model, error) {
	p, err := m.loaded()
	if err != nil {
		return nil, err
	}
	for index, weights := range params.Weights {
		q, err := p.procedure(index)
		if err == nil {
			err = q.injectWeights(weights)
		}
		if err != nil {
			return nil, err
		}
	}
	made := &Program{client: p.client}
	units := map[*unit]*unit{}
	for _, u := range p.units {
		process, err := u.program.NewInstance()
		if err != nil {
			return nil, ErrInvalidModel.because(err)
		}
		units[u] = &unit{program: u.program, queues: map[int]*driver.Process{0: process}}
		made.units = append(made.units, units[u])
	}
	for _, q := range p.procedures {
		made.procedures = append(made.procedures, &procedure{unit: units[q.unit], index: q.index, object: q.object, name: q.name, inputs: q.inputs, outputs: q.outputs})
	}
	name := params.Name
	if name == "" {
		name = m.key
	}
	instance := m.client.newModel(m.path, name)
	instance.statsMask = m.StatsMask()
	return instance, instance.SetProgram(made)
}
