package engine

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/kernel"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// bindV7 binds the tasks of H13's encoding. Registers outlive a task: one that
// a task does not write keeps its value (h13 2.1).
func (p *Program) bindV7(tasks []td.Placed) error {
	registers := td.NewRegisters(td.LayoutOf(td.V7))
	for i, t := range tasks {
		if t.Extension() {
			if err := p.addOperation(i, t.Task); err != nil {
				return err
			}
			continue
		}
		registers.Apply(t.Task)
		b := &binder{p: p, index: i, task: t.Task, registers: registers}
		s, err := b.bind()
		if err != nil {
			return err
		}
		p.steps = append(p.steps, s)
	}
	return nil
}

// A v7Step is a bound task of version 7: the source is loaded into a dense
// buffer, a unit computes from there, the result is rounded and stored. All of
// the source is read before anything of the result is written.
type v7Step struct {
	source operand
	keep   *operand // where the source also stays on chip
	unit   unit
	result operand
	store  kernel.Rounding

	sweeps []sweep // in this order
}

// A unit computes the result in the context's buffer, from the source there and
// what else it needs.
type unit interface {
	sweeps() []sweep
	passes() bool                   // the source itself is what sweeps begin with, in the place of the result
	weightElements() int64          // the size of its weight buffer
	work() (steps, perTile float64) // beside reading the sources and writing the result
}

// A sweep goes over n tiles that have about so many steps each.
type sweep struct {
	n, steps int
	tiles    tileFunc
}

// sweepGrain is how many steps are worth a thread, and lie between two questions
// whether to stop.
const sweepGrain = 1 << 14

// bindSweeps settles the sweeps.
func (s *v7Step) bindSweeps() {
	into := (*Context).sourceBuffer
	if s.unit.passes() {
		into = (*Context).resultBuffer
	}
	s.sweeps = append(s.sweeps, s.source.gather(into))
	if s.keep != nil {
		s.sweeps = append(s.sweeps, sweep{s.keep.view.Rows(), s.keep.view.Dims[kernel.W], func(c *Context, _ *strided.Scratch, lo, hi int) {
			kernel.Copy(c.memories[onChipIndex], &s.keep.view, c.memories[s.source.memory], &s.source.stored, lo, hi)
		}})
	}
	s.sweeps = append(s.sweeps, s.unit.sweeps()...)
	s.sweeps = append(s.sweeps, sweep{s.result.view.Rows(), s.result.view.Dims[kernel.W], func(c *Context, _ *strided.Scratch, lo, hi int) {
		kernel.Scatter(c.memories[s.result.memory], &s.result.view, c.result, s.store, lo, hi)
	}})
}

func (s *v7Step) run(c *Context) {
	for i := range s.sweeps {
		l := &s.sweeps[i]
		c.virtual.share(l.n, max(1, sweepGrain/max(1, l.steps)), l.tiles)
	}
}

func (c *Context) sourceBuffer() []float32 { return c.source1 }
func (c *Context) secondBuffer() []float32 { return c.source2 }
func (c *Context) resultBuffer() []float32 { return c.result }

// A binder turns one task, and the registers as it leaves them, into a step.
type binder struct {
	p         *Program
	index     int
	task      *td.Task
	registers *td.Registers
}

// value returns a register or header field.
func (b *binder) value(f *td.Field) uint32 {
	if f.Block.Header {
		v, _ := b.task.Get(f)
		return v
	}
	return b.registers.Value(f)
}

// num returns a field as a number; byte strides are signed.
func (b *binder) num(f *td.Field) int   { return int(int32(b.value(f))) }
func (b *binder) flag(f *td.Field) bool { return b.value(f) != 0 }

// float returns the number in an fp16 or fp32 field.
func (b *binder) float(f *td.Field) float32 { return f.Float(b.value(f)) }

// refuse makes an error about what stands in a field.
func (b *binder) refuse(f *td.Field, format string, args ...any) error {
	return &Error{Task: b.index, Field: f, Value: b.value(f), Msg: fmt.Sprintf(format, args...)}
}

func (b *binder) isArray() bool { return b.value(td.V7TaskType) == td.TypeArray }

// size is the extent of a tensor, in elements, of which there is one for each
// group.
type size struct{ groups, c, d, h, w int }

// sizes reads the extents of source 1 and of the result.
func (b *binder) sizes() (in, out size, err error) {
	for _, f := range []*td.Field{
		td.V7Cin, td.V7Din, td.V7Hin, td.V7Win, td.V7Cout, td.V7Dout, td.V7Hout, td.V7Wout, td.V7Groups,
	} {
		if b.num(f) == 0 {
			return in, out, b.refuse(f, "want 1 or more")
		}
	}
	groups := b.num(td.V7Groups)
	in = size{groups, b.num(td.V7Cin), b.num(td.V7Din), b.num(td.V7Hin), b.num(td.V7Win)}
	out = size{groups, b.num(td.V7Cout), b.num(td.V7Dout), b.num(td.V7Hout), b.num(td.V7Wout)}
	return in, out, nil
}

func (b *binder) bind() (*v7Step, error) {
	if err := b.checkForms(); err != nil {
		return nil, err
	}
	in, out, err := b.sizes()
	if err != nil {
		return nil, err
	}
	s := &v7Step{store: kernel.Rounding{HalfAway: !b.p.numerics.RoundHalfEven, NaNToInf: b.p.numerics.NaNToInf}}
	if s.source, err = b.source1(in); err != nil {
		return nil, err
	}
	transposed := b.flag(td.V7TransposePlanar)
	var others []*operand // read beside source 1
	if b.isArray() {
		transposed = b.flag(td.V7TransposeArray)
		s.unit, others, err = b.array(&s.source, in, out)
	} else {
		s.unit, out, others, err = b.planar(in, out)
	}
	if err != nil {
		return nil, err
	}
	reads := append([]*operand{&s.source}, others...)
	for _, o := range reads {
		if err := b.checkWritten(o); err != nil {
			return nil, err
		}
	}
	if err := b.keepSource(s); err != nil {
		return nil, err
	}
	if s.result, err = b.resultOf(out, transposed); err != nil {
		return nil, err
	}
	if err := b.checkDisjoint(s, reads); err != nil {
		return nil, err
	}
	if err := b.claimBuffers(s, others); err != nil {
		return nil, err
	}
	for _, o := range []*operand{s.keep, &s.result} {
		if o == nil {
			continue
		}
		if err := b.p.noteWritten(o.memory, &o.region); err != nil {
			return nil, b.refuse(o.base, "%v", err)
		}
	}
	s.bindSweeps()
	return s, nil
}

// claimBuffers sees that a context has the buffers that the step needs.
func (b *binder) claimBuffers(s *v7Step, others []*operand) error {
	need := bufferSizes{
		source1: elements(&s.source.view),
		result:  elements(&s.result.view),
		weights: s.unit.weightElements(),
	}
	for _, o := range others {
		need.source2 += elements(&o.view)
	}
	if n := need.source1 + need.source2 + need.result + need.weights; n > maxDispatchBytes/4 {
		return b.refuse(td.V7Groups, "the task has %d elements at hand, more than fit %#x bytes", n, int64(maxDispatchBytes))
	}
	b.p.buffers.grow(need)
	steps, perTile := s.unit.work()
	steps += float64(need.source1 + need.source2 + need.result + need.weights)
	if err := b.p.countWork(steps, perTile, false); err != nil {
		return b.refuse(td.V7Cout, "%v", err)
	}
	return nil
}

// elements is the number of elements of a view, broadcasts counted, or a number
// past every limit.
func elements(v *kernel.View) int64 {
	n := int64(1)
	for _, d := range v.Dims {
		if n *= int64(d); n > maxDispatchBytes {
			return maxDispatchBytes
		}
	}
	return n
}

// checkWritten refuses a source that reads what no task has written.
func (b *binder) checkWritten(o *operand) error {
	if err := b.p.unwritten(o.memory, &o.region); err != nil {
		return b.refuse(o.base, "%v", err)
	}
	return nil
}

// checkDisjoint refuses a result that overlaps a source, unless every element
// takes the place of its own source. What is kept of the source must not lie
// over another source or the result.
func (b *binder) checkDisjoint(s *v7Step, reads []*operand) error {
	r := &s.result
	for _, o := range reads {
		if o.stored == r.stored {
			continue
		}
		if err := b.checkApart(r, o, "the result overlaps a source that lies differently"); err != nil {
			return err
		}
	}
	if s.keep == nil {
		return nil
	}
	for _, o := range reads {
		if err := b.checkApart(s.keep, o, "the source that is kept overlaps another"); err != nil {
			return err
		}
	}
	return b.checkApart(r, s.keep, "the result overlaps the source that is kept")
}

func (b *binder) checkApart(r, o *operand, what string) error {
	if o.memory != r.memory {
		return nil
	}
	meet, err := b.p.overlap(&o.region, &r.region)
	switch {
	case err != nil:
		return b.refuse(r.base, "%v", err)
	case meet:
		return b.refuse(r.base, "%s in %v", what, &b.p.memories[r.memory])
	}
	return nil
}
