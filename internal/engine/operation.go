package engine

import (
	"fmt"
	"math"
	"runtime"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// Strided operations.

// addOperation binds a strided operation.
func (p *Program) addOperation(op *td.Op) error {
	s, once, err := p.bindOp(op)
	if err != nil {
		return fmt.Errorf("%v: %w", op.Class(), err)
	}
	if !once {
		p.steps = append(p.steps, s)
	}
	return nil
}

// bindOp binds an operation, and says whether it is run once, when the program is
// loaded.
func (p *Program) bindOp(op *td.Op) (s step, once bool, err error) {
	places, once, err := p.place(op)
	if err != nil {
		return s, false, err
	}
	bound := &strided.Op{Params: op.Params, Epilogue: op.Epilogue, Rules: p.rules, Gemm: p.gemm, Operands: make([]strided.Operand, len(places))}
	if !once { // what is run once is run before anything is packed
		bound.Packs = &p.packs
	}
	for i := range places {
		bound.Operands[i] = places[i].Operand
		bound.Operands[i].Origin = p.origin(&places[i])
		bound.Operands[i].Constant = !once && !places[i].region.empty() && p.memories[places[i].Memory].kind.shared()
	}
	k, err := strided.Bind(bound)
	if err != nil {
		return s, false, err
	}
	for i := op.Results(); i < len(places); i++ {
		if i == 2 && strided.ReadsOrigin(k) {
			p.wantsOrigin(bound.Operands[i].Origin, !once)
		} else {
			p.wants(&places[i], !once && !(i == 2 && strided.ReadsPacked(k)))
		}
	}
	if err := p.claimScratch(k.Need()); err != nil {
		return s, false, err
	}
	s = step{kernels: []strided.Kernel{k}, over: liesOver(op, places)}
	if p.packs.Small && !once {
		s.mapped = p.largeConstants(places[op.Results():])
	}
	if tiles, _ := k.Tiles(); tiles > 0 {
		work := operationWork(op)
		err = p.countWork(work, work/float64(tiles), once)
		s.nanoseconds = operationTime(op, work)
	}
	if once {
		p.addDerivation(s, bound, places, op.Results())
	} else {
		for i := op.Results(); i < len(places); i++ {
			p.touches(&places[i], false, nil, nil, 0)
		}
		for i := range op.Results() {
			p.touches(&places[i], true, nil, nil, 0)
		}
		for i := range places {
			p.note(access{place: places[i], writes: i < op.Results(), first: i == 0, over: op.InPlace(i)})
		}
	}
	return s, once, err
}

// A stretch is bytes of a memory.
type stretch struct{ memory, lo, hi int }

// largeConstants are where operands lie that are many bytes of constants.
func (p *Program) largeConstants(places []place) (list []stretch) {
	const many = 1 << 16
	for i := range places {
		if places[i].region.empty() || p.memories[places[i].Memory].kind != constant {
			continue
		}
		if lo, hi := places[i].region.hull(); hi-lo >= many {
			list = append(list, stretch{places[i].Memory, int(lo), int(hi)})
		}
	}
	return list
}

// unload gives back the pages of the constants that a step has read, in little memory.
// The system has them still, as long as it has room, and so the next dispatch does.
func (p *Program) unload(s *step) {
	for _, m := range s.mapped {
		osfile.Unload(p.memories[m.memory].data[m.lo:m.hi])
	}
}

// liesOver reports whether the result takes the place of what it is made of. No other
// overlap of the two is allowed.
func liesOver(op *td.Op, places []place) bool {
	for i := op.Results(); i < len(places); i++ {
		if x, y := &places[i], &places[0]; x.Memory == y.Memory && !x.region.empty() && x.liesOn(y, 0) {
			return true
		}
	}
	return false
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
