package engine

import (
	"slices"
	"strconv"

	"github.com/espalier-ane/espalier/internal/trace"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What a task is, for those who measure it: the work of a task of either kind is counted here, and nowhere else.

// A Task is a task that every run executes.
type Task struct {
	Index  int    // in the task list of the container
	What   string // "Conv 3×3"
	Result string // "fp16[1, 64, 56, 56]"

	// FLOPs are its additions and multiplications, or what it does to each element instead. Bytes are those of all operands,
	// each once, as they are stored: what has to be moved if nothing stays in a cache.
	FLOPs, Bytes float64
}

// Tasks are the tasks that every run executes, in order. Those that are done once, when the program is loaded, are not among
// them.
func (p *Program) Tasks() []Task { return p.tasks }

// Label says what a task is, for a timeline.
func (p *Program) Label(i int) trace.Label {
	t := &p.tasks[i]
	return trace.Label{Category: "task", Name: t.What, Args: []trace.Arg{{Name: "task", Value: t.Index}, {Name: "result", Value: t.Result}, {Name: "flops", Value: t.FLOPs}, {Name: "bytes", Value: t.Bytes}}}
}

// Bytes are the sizes of the program's memory: constants of its own and those that the caller gave, as they are stored; what is
// made of them when it is loaded; and what each run under way needs beside its ports.
func (p *Program) Bytes() (own, external, packed, scratch int64) {
	packed = p.packs.Bytes()
	notKept := int64(0) // of derived memory
	for i := range p.memories {
		switch m := &p.memories[i]; {
		case m.island: // it is counted with what it is a part of
		case m.external:
			external += int64(m.size)
		case m.kind == constant:
			own += int64(m.size)
		case m.kind == derived:
			packed += int64(m.kept)
			notKept += int64(m.size - m.kept)
		}
	}
	return own, external, packed, p.OwnBytes() - packed - notKept
}

// describe notes what a task is that was just bound, if every run executes it.
func (p *Program) describe(index int, unit *units.Op, op *td.Op) {
	if len(p.tasks) == len(p.steps) {
		return // it is done once
	}
	t := Task{Index: index}
	if unit != nil {
		t.describeUnit(unit)
	} else {
		t.describeOperation(op)
	}
	p.tasks = append(p.tasks, t)
}

func (t *Task) describeOperation(op *td.Op) {
	t.What = op.Class().String()
	y := &op.Operands[0]
	elements := product(y.Dims[:]...)
	t.Result = resultText(y.Type, y.Dims)
	switch p := op.Params.(type) {
	case *td.Convolution:
		t.What += window(p.Kernel[:]...)
		t.FLOPs = 2 * operationWork(op)
	case *td.MatMul, *td.CrossCorrelation, *td.Attention:
		t.FLOPs = 2 * operationWork(op)
	case *td.Pooling:
		t.What += window(p.Kernel[:]...)
		t.FLOPs = elements * product(p.Kernel[:]...)
	case *td.Copy:
	default:
		t.FLOPs = operationWork(op)
	}
	t.FLOPs += float64(len(op.Epilogue)) * elements
	for i := range op.Operands {
		o := &op.Operands[i]
		if !o.Present() {
			continue
		}
		n := inMemory(o)
		if op.Class() == td.ClassGather && i == op.Results() {
			n = min(n, elements) // of what it gathers from, no more than it takes
		}
		t.Bytes += n * float64(o.Type.Bits()) / 8
	}
}

// describeUnit describes a task of the array or of the planar engine, whose numbers are fp16.
func (t *Task) describeUnit(o *units.Op) {
	of := func(s units.Size, broadcast uint32) float64 {
		dims := s.Extents(o.Groups, broadcast)
		return product(dims[:]...)
	}
	size := o.ResultSize()
	t.Result = resultText(tensor.Float16, size.Extents(o.Groups, 0))
	t.Bytes = 2 * (of(o.In, o.Broadcast1) + of(size, 0))
	if o.Source2 != nil {
		t.Bytes += 2 * of(o.Size2(), o.Broadcast2)
	}
	if o.Planar {
		t.What, t.FLOPs = "planar", of(o.In, 0)
		return
	}
	t.What, t.FLOPs = "array copy", 0
	if o.Operation != units.Bypass {
		w := &o.Window
		t.What, t.FLOPs = "array"+window(w.KH, w.KW), 2*of(o.Out, 0)*product(o.Inputs(), w.KH, w.KW)
	}
	if o.Kernel != nil {
		for _, n := range o.Kernel.Sizes {
			t.Bytes += float64(n)
		}
	}
}

// product multiplies lengths.
func product(lengths ...int) float64 {
	n := 1.0
	for _, l := range lengths {
		n *= float64(l)
	}
	return n
}

// inMemory is how many elements of an operand there are in memory: those that are repeated count once.
func inMemory(o *td.Operand) float64 {
	dims := o.Dims
	for a, stride := range o.Strides {
		if stride == 0 && !o.Type.SubByte() {
			dims[a] = min(dims[a], 1)
		}
	}
	return product(dims[:]...)
}

// window writes the size of a window, without a depth of 1.
func window(kernel ...int) string {
	if len(kernel) == 3 && kernel[0] == 1 {
		kernel = kernel[1:]
	}
	text := ""
	for i, n := range kernel {
		text += []string{" ", "×"}[min(i, 1)] + strconv.Itoa(n)
	}
	return text
}

// resultText writes the type and the extents of a result, without a depth of 1.
func resultText(d tensor.DType, dims [td.NumAxes]int) string {
	shape := dims[:]
	if dims[td.AxisD] == 1 {
		shape = slices.Delete(slices.Clone(shape), int(td.AxisD), int(td.AxisD)+1)
	}
	return d.String() + tensor.ShapeOf(shape...).String()
}
