package aneclient

import (
	"slices"
	"time"

	"github.com/espalier-ane/espalier/internal/driver"
)

// A Request is one evaluation of a procedure: _ANERequest. One request is evaluated by one goroutine at a time.
type Request struct {
	Inputs        []*IOSurfaceObject
	InputIndices  []int // symbol of each
	Outputs       []*IOSurfaceObject
	OutputIndices []int

	// WeightsBuffer has constants for this evaluation.
	WeightsBuffer *IOSurfaceObject

	PerfStats         []*StatsBuffer
	ProcedureIndex    int
	SharedEvents      *SharedEvents
	TransactionHandle uint64    // echoed
	Deadline          time.Time // when it is aborted; zero: never

	stats  *PerformanceStats
	mask   uint32 // of the model that it was made for
	cached *cachedRequest
}

// A cachedRequest is a request that was mapped with cached inference: it has been checked, and its memory is in place.
type cachedRequest struct {
	program   *Program
	procedure *procedure
	request   driver.Request
	surfaces  []*driver.Surface
}

// NewRequest makes a request: +requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:.
func NewRequest(inputs []*IOSurfaceObject, inputIndices []int, outputs []*IOSurfaceObject, outputIndices []int, weights *IOSurfaceObject, stats []*StatsBuffer, procedureIndex int) *Request {
	return &Request{
		Inputs: inputs, InputIndices: inputIndices, Outputs: outputs, OutputIndices: outputIndices, WeightsBuffer: weights, PerfStats: stats, ProcedureIndex: procedureIndex,
	}
}

// validate holds the request to what a program takes.
func (p *Program) validate(r *Request) (*procedure, error) {
	q, err := p.procedure(r.ProcedureIndex)
	if err != nil {
		return nil, err
	}
	if err := q.injectWeights(r.WeightsBuffer); err != nil {
		return nil, err
	}
	if err := p.client.checkSide("input", q.inputs, r.Inputs, r.InputIndices); err != nil {
		return nil, err
	}
	if err := p.client.checkSide("output", q.outputs, r.Outputs, r.OutputIndices); err != nil {
		return nil, err
	}
	for i, symbol := range r.OutputIndices {
		if out := &q.outputs[symbol]; out.State {
			in := slices.IndexFunc(r.InputIndices, func(i int) bool { return q.inputs[i].State && q.inputs[i].Name == out.Name })
			if *r.Inputs[in] != *r.Outputs[i] {
				return nil, ErrBadArgument.saying("output symbol %d, %q, is a state: it has the surface of the input, or none", symbol, out.Name)
			}
		}
	}
	for _, s := range r.PerfStats {
		if err := s.check(p.client); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// injectWeights gives an evaluation other constants. The engine cannot do that yet: this is where it will.
func (q *procedure) injectWeights(weights *IOSurfaceObject) error {
	if weights != nil {
		return ErrBadArgument.saying("weightsBuffer: procedure %q has its constants from when it was loaded; others cannot be injected yet", q.name)
	}
	return nil
}

// checkSide holds one side of a request to the ports: each has one surface, which is large enough. A state is given as an
// input, and need not be given as an output again.
func (c *Client) checkSide(side string, ports []Port, list []*IOSurfaceObject, indices []int) error {
	if len(list) != len(indices) {
		return ErrBadArgument.saying("%d %ss and %d indices", len(list), side, len(indices))
	}
	for i, o := range list {
		if err := c.checkBuffer(side, ports, o, indices[i]); err != nil {
			return err
		}
		if slices.Contains(indices[:i], indices[i]) {
			return ErrBadArgument.saying("%s symbol %d is there twice", side, indices[i])
		}
	}
	for i := range ports {
		if !slices.Contains(indices, i) && (side == "input" || !ports[i].State) {
			return ErrBadArgument.saying("%s symbol %d, %q, has no surface", side, i, ports[i].Name)
		}
	}
	return nil
}

// checkBuffer holds a surface to the port of a symbol.
func (c *Client) checkBuffer(side string, ports []Port, o *IOSurfaceObject, symbol int) error {
	switch {
	case symbol < 0 || symbol >= len(ports):
		return ErrBadArgument.saying("%s symbol %d: the procedure has %d", side, symbol, len(ports))
	case o == nil || o.Surface == nil || o.Surface.client != c:
		return ErrBadArgument.saying("%s symbol %d: the surface is none of this client", side, symbol)
	case o.StartOffset < 0 || len(o.Surface.Bytes())-o.StartOffset < ports[symbol].Bytes:
		return ErrBadArgument.saying("%s symbol %d, %q, needs %d bytes from %d on, and the surface has %d", side, symbol, ports[symbol].Name, ports[symbol].Bytes, o.StartOffset, len(o.Surface.Bytes()))
	}
	return nil
}

// Validate reports what is wrong with a request for the model: -validateRequest:model:.
func (m *Model) Validate(r *Request) error {
	p, err := m.loaded()
	if err != nil {
		return err
	}
	_, err = p.validate(r)
	return err
}

// prepare makes what the driver takes.
func (p *Program) prepare(r *Request, qos int) (*driver.Request, *procedure, error) {
	if err := checkQoS(qos); err != nil {
		return nil, nil, err
	}
	if p.client.inRealTime() {
		qos = QoSRealTime
	}
	if k := r.cached; k != nil && k.program == p {
		k.request.QoS = qos
		r.bindStats(&k.request, p.client)
		return &k.request, k.procedure, nil
	}
	q, err := p.validate(r)
	if err != nil {
		return nil, nil, err
	}
	d := r.driverRequest(q)
	d.QoS = qos
	r.bindStats(&d, p.client)
	return &d, q, nil
}

// driverRequest is the request in the driver's form, for a quality of service that is not said.
func (r *Request) driverRequest(q *procedure) driver.Request {
	d := driver.Request{Procedure: q.index, Sequence: r.TransactionHandle, Priority: driver.ByQoS, QoS: QoSDefault, Deadline: r.Deadline}
	for i, o := range r.Inputs {
		d.Inputs = append(d.Inputs, o.driverBuffer(r.InputIndices[i]))
	}
	for i, o := range r.Outputs {
		d.Outputs = append(d.Outputs, o.driverBuffer(r.OutputIndices[i]))
	}
	if r.SharedEvents != nil {
		for _, w := range r.SharedEvents.Waits {
			d.Waits = append(d.Waits, driver.Wait{Event: w.Event.event, Value: w.Value})
		}
		for _, s := range r.SharedEvents.Signals {
			d.Signals = append(d.Signals, driver.Signal{Event: s.Event.event, Value: s.Value, Type: driver.EventType(s.Type), Agents: s.AgentMask, ID: s.Event.id})
		}
	}
	return d
}
