package aneclient

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/espalier-ane/espalier/internal/driver"
)

// A Program is a model that the engine has: _ANEProgramForEvaluation.
type Program struct {
	client     *Client
	units      []*unit
	procedures []*procedure
}

// A unit is a container that the driver has: a model has one, unless somebody else has compiled it.
type unit struct {
	program *driver.Program

	mu     sync.Mutex
	queues map[int]*driver.Process // by index; 0 is that of the load
}

// A procedure is a function of a loaded model.
type procedure struct {
	unit            *unit
	index           int // there
	object          *objectProcedure
	name            string
	inputs, outputs []Port

	mu    sync.Mutex
	chain *chain // that begins with it; nil: none
}

// load gives a compiled model to the driver.
func (c *Client) load(ctx context.Context, o *object, qos int) (*Program, error) {
	p := &Program{client: c}
	for _, container := range o.containers {
		made, err := c.driver.CreateProgram(container.data, driver.ProgramOptions{Name: container.path, Weights: container.weights, Numerics: o.numerics, QoS: qos})
		if err != nil {
			return nil, ErrInvalidModel.because(errors.Join(err, p.unload()))
		}
		first, err := made.Prepare(ctx)
		if err != nil {
			return nil, ErrInvalidModel.because(errors.Join(err, made.Destroy(), p.unload()))
		}
		p.units = append(p.units, &unit{program: made, queues: map[int]*driver.Process{0: first}})
	}
	for i := range o.procedures {
		q := &o.procedures[i]
		u := p.units[q.container]
		info := u.program.Procedures()[q.index]
		p.procedures = append(p.procedures, &procedure{
			unit: u, index: q.index, object: q, name: q.name, inputs: portsOf(info.Inputs), outputs: portsOf(info.Outputs),
		})
	}
	return p, nil
}

// unload takes all containers from the engine, or none.
func (p *Program) unload() error {
	for _, u := range p.units {
		if err := u.program.Unprepare(); err != nil {
			return err
		}
	}
	for _, u := range p.units {
		if err := u.program.Destroy(); err != nil {
			return err
		}
	}
	return nil
}

// Handle names the program in calls of the kernel: programHandle.
func (p *Program) Handle() uint64 { return p.units[0].program.Token() }

// IntermediateBufferHandle is where the engine sees what tasks keep between them, 0 if there is nothing: intermediateBufferHandle.
func (p *Program) IntermediateBufferHandle() uint64 {
	image := p.units[0].program.Image()
	if p.procedures[0].object.info.IntermediateBytes == 0 || image == nil {
		return 0
	}
	for _, s := range image.Segments {
		if s.Name == "__DATA" {
			return s.Address
		}
	}
	return 0
}

// QueueDepth is how many requests of a queue may wait: queueDepth.
func (p *Program) QueueDepth() int { return p.client.target.Driver.QueueDepth }

func (p *Program) String() string {
	return fmt.Sprintf("Program: { programHandle=%d ; intermediateBufferHandle=%d ; queueDepth=%d }", p.Handle(), p.IntermediateBufferHandle(), p.QueueDepth())
}

// procedure finds one by its index.
func (p *Program) procedure(index int) (*procedure, error) {
	if index < 0 || index >= len(p.procedures) {
		return nil, ErrBadArgument.saying("getProcedureCallType(): invalid procedureId=%d, tot=%d", index, len(p.procedures))
	}
	return p.procedures[index], nil
}

// queue is the process of a queue index. The requests of one run one after the other, those of several beside each other, as far
// as the engine takes more than one.
func (u *unit) queue(index, depth int) (*driver.Process, error) {
	if index < 0 || index >= depth {
		return nil, ErrBadArgument.saying("queue index %d: want 0 to %d", index, depth-1)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.queues[index] == nil {
		made, err := u.program.NewInstance()
		if err != nil {
			return nil, err
		}
		u.queues[index] = made
	}
	return u.queues[index], nil
}

// ProcessRequest has a request executed on one of the program's queues, and waits for it:
// -processRequest:model:qos:qIndex:modelStringID:options:returnValue:error:. The value that is returned is the status of the
// kernel, 0 when it is done. The string names the model in errors; "" leaves it out.
func (p *Program) ProcessRequest(ctx context.Context, r *Request, qos, qIndex int, modelStringID string) (returnValue uint32, err error) {
	d, q, err := p.prepare(r, qos)
	if err != nil {
		return uint32(driver.BadArgument), err
	}
	process, err := q.unit.queue(qIndex, p.QueueDepth())
	if err == nil {
		err = process.Run(ctx, d)
	}
	if err != nil {
		made := ErrInference.because(err)
		if modelStringID != "" {
			made = fmt.Errorf("%s: %w", modelStringID, made)
		}
		return uint32(driver.CodeOf(err)), made
	}
	r.finish(q)
	return 0, nil
}
