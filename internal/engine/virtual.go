package engine

import (
	"fmt"
	"math"
	"runtime"

	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// Tasks of version 256, and the extensions of version 7, which hold the same
// operations.

// bindVirtual binds the tasks of version 256.
func (p *Program) bindVirtual(tasks []td.Placed) error {
	for i, t := range tasks {
		if err := p.addOperation(i, t.Task); err != nil {
			return err
		}
	}
	return nil
}

// addOperation binds one task that holds an operation.
func (p *Program) addOperation(index int, task *td.Task) error {
	op, err := task.Op()
	if err != nil {
		return &Error{Task: index, Msg: err.Error()}
	}
	s, err := p.bindOp(op)
	if err != nil {
		return &Error{Task: index, Msg: fmt.Sprintf("%v: %v", op.Class(), err)}
	}
	if s.once {
		p.once = append(p.once, s)
	} else {
		p.steps = append(p.steps, s)
	}
	return nil
}

func (p *Program) bindOp(op *td.Op) (*virtualStep, error) {
	places, once, err := p.place(op)
	if err != nil {
		return nil, err
	}
	bound := &strided.Op{Params: op.Params, Epilogue: op.Epilogue, Rules: p.rules, Gemm: p.gemm, Operands: make([]strided.Operand, len(places))}
	if !once { // what is run once is run before anything is packed
		bound.Packs = &p.packs
	}
	for i := range places {
		bound.Operands[i] = places[i].Operand
		bound.Operands[i].Constant = !once && !places[i].region.empty() && p.memories[places[i].Memory].kind.shared()
	}
	k, err := strided.Bind(bound)
	if err != nil {
		return nil, err
	}
	if err := p.claimScratch(k.Need()); err != nil {
		return nil, err
	}
	s := &virtualStep{once: once}
	s.compute = func(_ *Context, w *strided.Scratch, lo, hi int) { k.Run(w, lo, hi) }
	s.tiles, s.grain = k.Tiles()
	if s.tiles == 0 {
		return s, nil
	}
	work := operationWork(op)
	return s, p.countWork(work, work/float64(s.tiles), once)
}

// claimScratch sees that the threads of a context have the scratch that a task
// needs.
func (p *Program) claimScratch(need strided.Need) error {
	need = p.scratch.Max(need)
	if bytes := need.Bytes() * int64(runtime.GOMAXPROCS(0)); bytes > maxDispatchBytes {
		return fmt.Errorf("the task needs %#x bytes of scratch; want %#x or less", bytes, int64(maxDispatchBytes))
	}
	p.scratch = need
	return nil
}

// A virtualStep is a bound operation.
type virtualStep struct {
	compute      tileFunc
	tiles, grain int
	once         bool // when the program is loaded, not in a dispatch
}

func (s *virtualStep) run(c *Context) { c.virtual.share(s.tiles, s.grain, s.compute) }

// A tileFunc computes tiles of a task with the scratch of a thread.
type tileFunc func(c *Context, w *strided.Scratch, lo, hi int)

// virtualContext is what a context has for tasks whose tiles are shared among
// goroutines: these, and the scratch of each.
type virtualContext struct {
	team    *pool.Team
	scratch []*strided.Scratch
	tiles   tileFunc // of the step that runs
	grain   int
}

// share has the goroutines compute n tiles. The function must be there before a
// run: a closure made for it would allocate.
func (v *virtualContext) share(n, grain int, f tileFunc) {
	v.tiles, v.grain = f, grain
	v.team.For(n, grain)
}

// newVirtualContext makes room for all operations of a program. The memories
// are those of the context, where ports may be bound to others later.
func newVirtualContext(need strided.Need, c *Context) *virtualContext {
	v := new(virtualContext)
	v.team = pool.NewTeam(runtime.GOMAXPROCS(0), func(worker, lo, hi int) {
		for ; lo < hi && !c.stop(); lo += v.grain {
			v.tiles(c, v.scratch[worker], lo, min(lo+v.grain, hi))
		}
	})
	for range v.team.Size() {
		s := strided.NewScratch(need)
		s.Memory = c.memories
		v.scratch = append(v.scratch, s)
	}
	return v
}

// operationWork is the number of steps of an operation, multiplications for the
// most part.
func operationWork(op *td.Op) float64 {
	count := func(dims ...int) float64 {
		n := 1.0
		for _, d := range dims {
			n *= float64(d)
		}
		return n
	}
	y := op.Operands[0].Dims
	x := y // where the class has no source
	if len(op.Operands) > 1 {
		x = op.Operands[1].Dims
	}
	work := max(count(y[:]...), count(x[:]...))
	switch p := op.Params.(type) {
	case *td.Convolution:
		w, places := op.Operands[2].Dims, y
		if p.Transposed { // each element of x meets all taps
			places = x
		}
		work = max(work, count(places[:]...)*count(w[1:]...))
	case *td.Pooling:
		for i, a := range [...]td.Axis{td.AxisD, td.AxisH, td.AxisW} {
			work *= float64(min(p.Kernel[i], max(x[a], 1)))
		}
	case *td.MatMul:
		inner := x[td.AxisW]
		if p.TransposeX {
			inner = x[td.AxisH]
		}
		work = max(work, count(y[:]...)*float64(inner))
	case *td.ArgMinMax:
		if !p.Mode.Spatial() {
			break
		}
		for i, a := range [...]td.Axis{td.AxisD, td.AxisH, td.AxisW} {
			work *= float64(min(p.Kernel[i], max(x[a], 1)))
		}
	case *td.Sort, *td.TopK: // what comes into the heap goes down in it
		x = op.Operands[op.Results()].Dims
		work = max(work, count(x[:]...)) * math.Log2(2+count(y[:]...))
	case *td.LRN:
		work *= float64(min(p.Size, x[td.AxisC]))
	case *td.CrossCorrelation:
		work = max(work, count(y[:]...)*count(x[td.AxisC]/p.Groups, p.Template[0], p.Template[1]))
	case *td.FurthestPointSampling:
		work *= float64(p.Count)
	case *td.Attention:
		work = max(work, count(y[:4]...)*float64(op.Operands[2].Dims[td.AxisH])*float64(x[td.AxisW]+y[td.AxisW]))
	}
	return work
}
