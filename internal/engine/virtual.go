package engine

import (
	"fmt"
	"math"
	"runtime"

	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
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
	bound := p.stridedOp(op, places)
	if !once { // what is run once is run before anything is packed
		bound.Packs = &p.packs
		for i := range places {
			bound.Operands[i].Constant = !places[i].region.empty() && p.memories[places[i].memory].kind.shared()
		}
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

// stridedTypes are the element types as the kernels number them.
var stridedTypes = map[tensor.DType]strided.Type{
	tensor.Bool: strided.Bool, tensor.Float16: strided.F16, tensor.Float32: strided.F32, tensor.Float64: strided.F64,
	tensor.BFloat16: strided.BF16, tensor.Float8E4M3FN: strided.F8E4M3, tensor.Float8E5M2: strided.F8E5M2,
	tensor.Int8: strided.I8, tensor.Int16: strided.I16, tensor.Int32: strided.I32, tensor.Int64: strided.I64,
	tensor.UInt8: strided.U8, tensor.UInt16: strided.U16, tensor.UInt32: strided.U32, tensor.UInt64: strided.U64,
	tensor.Int4: strided.I4, tensor.UInt1: strided.U1, tensor.UInt2: strided.U2, tensor.UInt3: strided.U3,
	tensor.UInt4: strided.U4, tensor.UInt6: strided.U6,
}

// stridedOp is the operation as the kernels take it, with its operands where
// they were placed. The numbers of classes, functions and kinds are the same.
func (p *Program) stridedOp(op *td.Op, places []place) *strided.Op {
	o := &strided.Op{Class: uint8(op.Class()), Operands: make([]strided.Operand, len(op.Operands)), Rules: stridedRules(&p.numerics)}
	for i := range op.Operands {
		if from := &op.Operands[i]; from.Present() {
			o.Operands[i] = strided.Operand{
				Base: places[i].memory, Offset: places[i].offset, Type: stridedTypes[from.Type],
				Interleave: int(from.Interleave), Dims: from.Dims, Strides: places[i].strides,
			}
		}
	}
	for _, m := range op.Epilogue {
		s := stridedStep(m)
		if p.numerics.TableFromKnots && m.Code == td.MicroActivation {
			s.Table = knotFunction(td.Function(m.Function), m.A, m.B, &p.numerics)
		}
		o.Steps = append(o.Steps, s)
	}
	switch p := op.Params.(type) {
	case *td.Convolution:
		o.Params.Window, o.Params.Groups, o.Params.Transposed = stridedWindow(&p.Window), p.Groups, p.Transposed
	case *td.Pooling:
		o.Params.Window, o.Params.Kind, o.Params.CountPad = stridedWindow(&p.Window), uint8(p.Kind), p.CountPad
	case *td.ElementWise:
		o.Params.Kind = uint8(p.Kind)
	case *td.MatMul:
		o.Params.TransposeX, o.Params.TransposeZ = p.TransposeX, p.TransposeZ
	case *td.Reduction:
		o.Params.Kind, o.Params.Axes = uint8(p.Kind), uint8(p.Axes)
	case *td.Softmax:
		o.Params.Axis = int(p.Axis)
	case *td.LayerNorm:
		o.Params.Axes, o.Params.Epsilon = uint8(p.Axes), p.Epsilon
	case *td.InstanceNorm:
		o.Params.Axes, o.Params.Epsilon = uint8(p.Axes), p.Epsilon
	case *td.L2Norm:
		o.Params.Axes, o.Params.Epsilon = uint8(p.Axes), p.Epsilon
	case *td.MinMaxNorm:
		o.Params.Axes, o.Params.Epsilon = uint8(p.Axes), p.Epsilon
	case *td.ArgMinMax:
		o.Params.Window, o.Params.Spatial, o.Params.Max = stridedWindow(&p.Window), p.Mode.Spatial(), p.Mode.Extreme() == td.Max
	case *td.GlobalArgMinMax:
		o.Params.Axis, o.Params.Max = int(p.Axis), p.Type == td.Max
	case *td.Sort:
		o.Params.Max = p.Direction == td.Descending
		stridedSorting(&o.Params, &p.Sorting)
	case *td.TopK:
		o.Params.Max = p.Type == td.Max
		stridedSorting(&o.Params, &p.Sorting)
	case *td.LRN:
		o.Params.Size, o.Params.Alpha, o.Params.Beta, o.Params.K = p.Size, p.Alpha, p.Beta, p.K
	case *td.Gather:
		o.Params.Axis = int(p.Axis)
	case *td.Attention:
		o.Params.Scale = p.Scale
	case *td.ScaledElementWise:
		o.Params.Kind, o.Params.Scale = uint8(p.Kind), p.Scale
	case *td.DeQuant:
		o.Params.Blocks, o.Params.VectorAxis = p.Blocks, int(p.VectorAxis)
	case *td.RandomGenerator:
		o.Params.Low, o.Params.High, o.Params.Seed = p.Low, p.High, p.Seed
	case *td.RingBufferWriter:
		o.Params.Offset, o.Params.Axes, o.Params.Live = p.Offset, uint8(p.Circular), p.Live
	case *td.CrossCorrelation:
		o.Params.Window, o.Params.Groups = stridedWindow(&td.UnitWindow), p.Groups
		copy(o.Params.Kernel[1:], p.Template[:])
		copy(o.Params.PadBefore[1:], p.PadBefore[:])
	case *td.FurthestPointSampling:
		o.Params.Kind = uint8(p.Metric)
	case *td.RadiusSearch:
		o.Params.Radius = p.Radius
	default:
		stridedPlacing(&o.Params, p)
	}
	return o
}

func stridedSorting(to *strided.Params, s *td.Sorting) {
	to.Axis, to.VectorAxis, to.Indices = int(s.Axis), int(s.VectorAxis), s.Results == td.ResultIndices
	to.Keys = s.Keys[:s.NumKeys]
}

func stridedWindow(w *td.Window) strided.Window {
	return strided.Window{Kernel: w.Kernel, Stride: w.Stride, Dilation: w.Dilation, PadBefore: w.PadBefore}
}

func stridedStep(m td.MicroOp) strided.Step {
	s := strided.Step{Code: m.Function, Swap: m.Swap, A: m.A, B: m.B}
	switch m.Code {
	case td.MicroScaleBias:
		s.Kind = strided.ScaleBias
	case td.MicroActivation:
		s.Kind = strided.Function
	case td.MicroEW:
		s.Kind = strided.Pair
	case td.MicroTypeCast:
		s.Kind = strided.Cast
		d, _ := td.ElementType(m.Function) // a valid operation has it
		s.Code = uint8(stridedTypes[d])
	}
	if i, ok := m.Source.Operand(); ok {
		s.Operand = i
	}
	if k, ok := m.Source.Step(); ok {
		s.Earlier = k + 2
	}
	return s
}
