package driver

import (
	"bytes"
	"context"
	"crypto/sha256"

	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/limit"
)

// A Program is a container that a client has given to the driver. Its life:
//
//	        CreateProgram         Prepare                     NewInstance
//	bytes ──────────────► created ───────► loaded, process 0 ─────────────► more processes
//	                         ▲                    │
//	                         └─────── Unprepare ──┘        Destroy ends it, in either state
//
// Prepare makes the image: the container with all addresses resolved, at addresses that no load before had, and its signature.
type Program struct {
	client    *Client
	token     uint64
	container []byte
	options   ProgramOptions
	signature [32]byte // of the container

	// Of a loaded program, with the client's lock.
	slot       int
	image      *Image
	procedures []procedure
	processes  []*Process
	loading    bool
	chains     map[int]*Chain // that begin with it, by their number
	chained    int            // links of chains that are it
}

// ProgramOptions say how a container is loaded.
type ProgramOptions struct {
	Name      string        // of the program, for people
	Signature [32]byte      // that the container must have; all zero: any
	Weights   []byte        // of its external section, if it has one
	Numerics  *hal.Numerics // nil: the target's
	QoS       int           // of requests that say none; 0: Default
	Threads   int
	Limits    limit.Limits
}

// An Image is a program as the engine sees it.
type Image struct {
	Bytes     []byte   // of the container, with its addresses resolved
	Signature [32]byte // of them
	Segments  []Place

	records []byte // for the controller
}

// A Place is where the engine sees a segment.
type Place struct {
	Name          string
	Address, Size uint64
}

// A procedure is what of a program can be called.
type procedure struct {
	info            *hwx.ProcedureInfo
	program         *engine.Program
	ports           []engine.Port
	inputs, outputs []int // ports, in the order of their symbols
	tasks           int
}

// CreateProgram takes a container. Its bytes are copied.
func (c *Client) CreateProgram(container []byte, o ProgramOptions) (*Program, error) {
	p := &Program{client: c, container: bytes.Clone(container), options: o, slot: -1}
	p.signature = sha256.Sum256(p.container)
	if o.Signature != ([32]byte{}) && o.Signature != p.signature {
		return nil, fail(NotPrivileged, "the container's signature is %x, and %x is asked for", p.signature, o.Signature)
	}
	if _, ok := PriorityOf(o.QoS); !ok {
		return nil, fail(BadArgument, "quality of service %d: want 0 to %d", o.QoS, MaxQoS)
	}
	file, err := hwx.NewFile(p.container)
	if err != nil {
		return nil, because(BadArgument, err, "the container")
	}
	target, err := file.Target()
	if err != nil {
		return nil, because(BadArgument, err, "the container")
	}
	if !target.Same(c.device.target) {
		return nil, fail(Unsupported, "the container is for %s, the device is %s", target.Name, c.device.target.Name)
	}
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	p.token = c.token(p)
	return p, nil
}

// Token is the program's name in calls.
func (p *Program) Token() uint64 { return p.token }

// Signature is that of the container.
func (p *Program) Signature() [32]byte { return p.signature }

// Prepare loads the program. It has one process then, that of its token.
func (p *Program) Prepare(ctx context.Context) (*Process, error) {
	c := p.client
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	switch {
	case c.handles[p.token] != any(p):
		return nil, fail(NotFound, "the program is destroyed")
	case p.loading:
		return nil, fail(Busy, "the program is being loaded")
	case p.image != nil:
		return nil, fail(Busy, "the program is loaded already, in slot %d", p.slot)
	case sha256.Sum256(p.container) != p.signature:
		return nil, fail(NotPrivileged, "the container has changed since it was signed")
	}
	file, err := p.makeImage()
	if err == nil {
		p.loading = true
		c.mu.Unlock() // it takes its time
		var loaded []procedure
		loaded, err = p.load(ctx, file)
		c.mu.Lock()
		p.loading = false
		if err == nil && c.closed {
			err = errClosed
		}
		p.procedures = loaded
	}
	if err == nil {
		err = p.takeSlot()
	}
	var process *Process
	if err == nil {
		process, err = p.newProcess()
	}
	if err != nil {
		p.unload()
		return nil, err
	}
	process.token = p.token
	return process, nil
}

// makeImage gives the program's segments addresses, and resolves all that names one. The client's lock is held.
func (p *Program) makeImage() (*hwx.File, error) {
	file, err := hwx.NewFile(p.container)
	if err != nil {
		return nil, because(BadArgument, err, "the container")
	}
	image := &Image{}
	p.image = image
	var full error
	file.Relocate(func(s *hwx.Segment) uint64 {
		if s.Size == 0 || full != nil {
			return s.Addr
		}
		at, err := p.client.space.take(s.Size)
		if err != nil {
			full = err
			return s.Addr
		}
		image.Segments = append(image.Segments, Place{s.Name.String(), at, s.Size})
		return at
	})
	if full != nil {
		return nil, full
	}
	if image.Bytes, err = file.Encode(); err != nil {
		return nil, because(BadArgument, err, "the image")
	}
	image.Signature = sha256.Sum256(image.Bytes)
	image.records = sectionRecords(file)
	if file, err = hwx.NewFile(image.Bytes); err != nil {
		return nil, because(BadArgument, err, "the image")
	}
	return file, nil
}

// load has the engine load the procedures of the image.
func (p *Program) load(ctx context.Context, file *hwx.File) ([]procedure, error) {
	numerics := p.client.device.target.Numerics
	if p.options.Numerics != nil {
		numerics = *p.options.Numerics
	}
	programs, err := engine.LoadAll(ctx, file, engine.Options{Numerics: numerics, Weights: p.options.Weights, Threads: p.options.Threads, Limits: p.options.Limits})
	if err != nil {
		return nil, because(BadArgument, err, "the program")
	}
	list := make([]procedure, len(programs))
	for i, program := range programs {
		list[i] = procedure{program: program, ports: program.Ports(), tasks: len(program.Tasks())}
	}
	described, err := file.Procedures()
	for i := range described {
		q := &list[i]
		if q.info, err = described[i].Info(); err != nil {
			break
		}
		for j, port := range q.ports {
			if port.Direction != engine.Output {
				q.inputs = append(q.inputs, j)
			}
			if port.Direction != engine.Input {
				q.outputs = append(q.outputs, j)
			}
		}
	}
	if err != nil {
		return list, because(BadArgument, err, "the program")
	}
	return list, nil
}

// takeSlot tells the controller of the program.
func (p *Program) takeSlot() error {
	d := p.client.device
	d.mu.Lock()
	defer d.mu.Unlock()
	slot, ok := d.programs.take(p)
	if !ok {
		return fail(NoResources, "all %d program slots are taken", d.programs.limit)
	}
	p.slot = slot
	return d.ring.post(command(0x200), firmware.Header{ProgramID: int32(slot), ProcessID: -1, Priority: defaultPriority}, p.image.records)
}

// sectionRecords is the body of the command that loads a program: where the engine sees the tasks and the constants. It is
// firmware.LoadProgram without its ring header, for the header of the command stands before it.
func sectionRecords(file *hwx.File) []byte {
	l := firmware.LoadProgram
	body := make([]byte, l.Size)
	for kind, sections := range map[firmware.SectionKind][]*hwx.Section{
		firmware.Text: {file.Text()}, firmware.Kernel: file.KernelSections(), firmware.Generic: {file.Constants()},
	} {
		if len(sections) == 0 || sections[0] == nil {
			continue
		}
		r := part(l, body, kind.String())
		set(firmware.SectionRecord, r, "present", 1)
		set(firmware.SectionRecord, r, "address", sections[0].Addr)
		set(firmware.SectionRecord, r, "size", sections[0].Size)
	}
	set(l, body, "programId", firmware.InvalidID)
	return body[firmware.RingHeader.Size:]
}

// Unprepare unloads the program. Its processes are gone; requests under way make it Busy.
func (p *Program) Unprepare() error {
	c := p.client
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	return p.unprepare()
}

func (p *Program) unprepare() error {
	if p.image == nil || p.loading {
		return fail(NotReady, "the program is not loaded")
	}
	for _, process := range p.processes {
		if process.under > 0 {
			return fail(Busy, "process %d of the program has requests under way", process.slot)
		}
	}
	if p.chained > 0 {
		return fail(Busy, "%d links of chains are the program: invalidate them first", p.chained)
	}
	p.unload()
	return nil
}

// unload gives back what load took. The client's lock is held.
func (p *Program) unload() {
	if p.image == nil {
		return
	}
	c := p.client
	for _, s := range p.image.Segments {
		c.space.give(s.Address)
	}
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	for _, process := range p.processes {
		c.device.processes.give(process.slot)
		process.gone = true
		if process.token != p.token {
			delete(c.handles, process.token)
		}
	}
	if p.slot >= 0 {
		_ = c.device.ring.post(command(0x201), firmware.Header{ProgramID: int32(p.slot), ProcessID: -1, Priority: defaultPriority}, nil)
		c.device.programs.give(p.slot)
	}
	for _, q := range p.procedures {
		if q.program != nil {
			q.program.Close() // nobody runs it, and nobody will
		}
	}
	p.image, p.processes, p.procedures, p.slot = nil, nil, nil, -1
}

// Destroy ends the program. Its token names nothing any more.
func (p *Program) Destroy() error {
	c := p.client
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if c.handles[p.token] != any(p) {
		return fail(NotFound, "the program is destroyed")
	}
	if p.image != nil {
		if err := p.unprepare(); err != nil {
			return err
		}
	}
	delete(c.handles, p.token)
	return nil
}

// NewInstance makes another process of a loaded program: its requests run beside those of the others.
func (p *Program) NewInstance() (*Process, error) {
	c := p.client
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if p.image == nil || p.loading {
		return nil, fail(NotReady, "the program is not loaded")
	}
	process, err := p.newProcess()
	if err != nil {
		return nil, err
	}
	process.token = c.token(process)
	return process, nil
}

// newProcess takes a slot for a process. The client's lock is held.
func (p *Program) newProcess() (*Process, error) {
	c := p.client
	q := &Process{program: p, lane: lane{depth: c.device.target.Driver.QueueDepth}}
	q.contexts = make([]*engine.Context, len(p.procedures))
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	slot, ok := c.device.processes.take(q)
	if !ok {
		return nil, fail(NoResources, "all %d process slots are taken", c.device.processes.limit)
	}
	q.slot = slot
	p.processes = append(p.processes, q)
	return q, c.device.ring.post(command(0x202), firmware.Header{ProgramID: int32(p.slot), ProcessID: int32(slot), Priority: defaultPriority}, nil)
}

// Image is the loaded image, nil before Prepare.
func (p *Program) Image() *Image {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	return p.image
}

// Slot is the programId of a loaded program, -1 before Prepare.
func (p *Program) Slot() int {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	return p.slot
}

// A ProcedureInfo is what can be known of a procedure.
type ProcedureInfo struct {
	Name            string
	Inputs, Outputs []engine.Port // as a request has them; states are among both
	Tasks           int

	InputSymbols, OutputSymbols []int // of these, among those of all procedures
	IntermediateBytes           int64
}

// Procedures lists the procedures of a loaded program.
func (p *Program) Procedures() []ProcedureInfo {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	var list []ProcedureInfo
	for _, q := range p.procedures {
		info := ProcedureInfo{
			Name: q.info.Name, Tasks: q.tasks,
			InputSymbols: q.info.InputSymbols, OutputSymbols: q.info.OutputSymbols, IntermediateBytes: q.info.IntermediateBytes,
		}
		for _, i := range q.inputs {
			info.Inputs = append(info.Inputs, q.ports[i])
		}
		for _, i := range q.outputs {
			info.Outputs = append(info.Outputs, q.ports[i])
		}
		list = append(list, info)
	}
	return list
}
