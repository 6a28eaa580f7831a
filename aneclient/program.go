package aneclient

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/espalier-ane/espalier/internal/driver"
)

// A Program is a model that the engine has: _ANEProgramForEvaluation. A procedure of the model is a program of the driver, with a container of its own.
type Program struct {
	client     *Client
	procedures []*procedure
}

// A procedure is a function of a loaded model.
type procedure struct {
	program         *driver.Program
	object          *objectProcedure
	name            string
	inputs, outputs []Port

	mu     sync.Mutex
	queues map[int]*driver.Process // by index; 0 is that of the load
	chain  *chain                  // that begins with it; nil: none
}

// load gives a compiled model to the driver.
func (c *Client) load(ctx context.Context, o *object, qos int) (*Program, error) {
	p := &Program{client: c}
	for i := range o.procedures {
		q, err := c.loadProcedure(ctx, &o.procedures[i], driver.ProgramOptions{
			Name: o.procedures[i].name, Weights: o.procedures[i].weights, Numerics: o.numerics, QoS: qos,
		})
		if err != nil {
			return nil, ErrInvalidModel.because(errors.Join(err, p.unload()))
		}
		p.procedures = append(p.procedures, q)
	}
	return p, nil
}

func (c *Client) loadProcedure(ctx context.Context, o *objectProcedure, options driver.ProgramOptions) (*procedure, error) {
	made, err := c.driver.CreateProgram(o.container, options)
	if err != nil {
		return nil, err
	}
	first, err := made.Prepare(ctx)
	if err != nil {
		return nil, errors.Join(err, made.Destroy())
	}
	info := made.Procedures()[0]
	return &procedure{
		program: made, object: o, name: o.name, inputs: portsOf(info.Inputs), outputs: portsOf(info.Outputs), queues: map[int]*driver.Process{0: first},
	}, nil
}

// unload takes all procedures from the engine, or none.
func (p *Program) unload() error {
	for _, q := range p.procedures {
		if err := q.program.Unprepare(); err != nil {
			return err
		}
	}
	for _, q := range p.procedures {
		if err := q.program.Destroy(); err != nil {
			return err
		}
	}
	return nil
}

// Handle names the program in calls of the kernel: programHandle.
func (p *Program) Handle() uint64 { return p.procedures[0].program.Token() }

// IntermediateBufferHandle is where the engine sees what tasks keep between them, 0 if there is nothing: intermediateBufferHandle.
func (p *Program) IntermediateBufferHandle() uint64 {
	q := p.procedures[0]
	image := q.program.Image()
	if q.object.info.IntermediateBytes == 0 || image == nil {
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

// queue is the process of a queue index. The requests of one run one after the other, those of several beside each other, as far as the engine takes more than
// one.
func (q *procedure) queue(index, depth int) (*driver.Process, error) {
	if index < 0 || index >= depth {
		return nil, ErrBadArgument.saying("queue index %d: want 0 to %d", index, depth-1)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues[index] == nil {
		made, err := q.program.NewInstance()
		if err != nil {
			return nil, err
		}
		q.queues[index] = made
	}
	return q.queues[index], nil
}

// ProcessRequest has a request executed on one of the program's queues, and waits for it: -processRequest:model:qos:qIndex:modelStringID:options:returnValue:error:. The
// value that is returned is the status of the kernel, 0 when it is done. The string names the model in errors; "" leaves it out.
func (p *Program) ProcessRequest(ctx context.Context, r *Request, qos, qIndex int, modelStringID string) (returnValue uint32, err error) {
	d, q, err := p.prepare(r, qos)
	if err != nil {
		return uint32(driver.BadArgument), err
	}
	process, err := q.queue(qIndex, p.QueueDepth())
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
