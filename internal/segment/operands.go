package segment

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What tasks read and make in memory: the dataflow of a list of tasks, for reports. It is read off the tasks as they were
// selected. They name memories by their numbers still, so that values which share bytes one after the other are not taken for
// one.

// An operand is a tensor in memory that a task reads, or makes.
type operand struct {
	td.Operand       // of the memory that is its base
	at         Place // of its first byte, with its address
	made       bool
	value      *anec.Value // that lies there; nil: none of the layer's
	name       string      // of it, with a percent sign
	last       int         // of what is made: the task that reads some of it last; -1: none does
}

// operandsOf are the operands of each task in memory.
func operandsOf(s *Segment) [][]operand {
	var tasks []Task
	for _, l := range s.Plan.Layers {
		tasks = append(tasks, s.Selected[l]...)
	}
	list := make([][]operand, len(tasks))
	for i, t := range tasks {
		list[i] = taskOperands(t)
		for k := range list[i] {
			o := &list[i][k]
			base, offset := s.address(s.Memories[o.Base].Root())
			o.at.Region, o.at.Port = s.RegionOf(base)
			o.at.Offset = offset + o.Offset
			o.value = s.valueOf(t.Layer, o)
		}
		for k := range list[i] {
			o := &list[i][k]
			o.name = s.nameOf(o, list[i])
		}
	}
	findReaders(tasks, list)
	return list
}

// taskOperands are the operands of a task in the order in which they are printed: what it reads, then what it makes. A kernel is
// one for each of its streams.
func taskOperands(t Task) (list []operand) {
	if t.Unit == nil {
		for i := range t.Op.Operands {
			k := (i + t.Op.Results()) % len(t.Op.Operands)
			if o := t.Op.Operands[k]; o.Present() {
				list = append(list, operand{Operand: o, made: k < t.Op.Results()})
			}
		}
		return list
	}
	u := t.Unit
	add := func(s *units.Surface, size units.Size, broadcast uint32, exchange, made bool) {
		o := s.Operand()
		o.Base, o.Dims = s.Base, size.Extents(u.Groups, broadcast)
		if exchange {
			o.Dims[td.AxisC], o.Dims[td.AxisW] = o.Dims[td.AxisW], o.Dims[td.AxisC]
		}
		list = append(list, operand{Operand: o, made: made})
	}
	if s := &u.Source1; s.Streams() {
		add(s.Memory, u.In, u.Broadcast1, u.Transpose1, false)
	}
	if s := u.Source2; s != nil && s.Streams() {
		add(s.Memory, u.Size2(), u.Broadcast2, u.Transpose2, false)
	}
	if k := u.Kernel; k != nil {
		for i, bytes := range k.Sizes {
			if k.Runtime { // the stream ends on a whole row, and there is nothing behind the weights
				bytes = min(bytes, 2*u.Inputs()*u.Window.KW*u.Window.KH<<u.LanesLog2)
			}
			list = append(list, operand{Operand: td.Dense(k.Base, int64(k.Offsets[i]), tensor.UInt8, [td.NumAxes]int{1, 1, 1, 1, bytes})})
		}
	}
	if u.Result != nil && !u.Result.Backing {
		add(u.Result, u.ResultSize(), 0, u.Exchange, true)
	}
	return list
}

// findReaders finds the tasks that read last what each task makes:
//
//	task 0  makes buffer 4                   last 2
//	task 1  makes buffer 5                   last 2
//	task 2  reads 4 and 5, makes buffer 6    last 3      6 lies where 4 did
//	task 3  reads 6
func findReaders(tasks []Task, list [][]operand) {
	type memory struct{ number, layer int } // layer: whose temporaries they are, by its first task
	type access struct {
		byteSet
		task int
		*operand
	}
	accesses := map[memory][]access{}
	layer := 0
	for i, t := range tasks {
		if i > 0 && tasks[i-1].Layer != t.Layer {
			layer = i
		}
		for k := range list[i] {
			o := &list[i][k]
			m := memory{number: o.Base}
			if o.Base == Temporaries {
				m.layer = layer
			}
			accesses[m] = append(accesses[m], access{bytesOf(&o.Operand), i, o})
		}
	}
	for _, all := range accesses {
		for i, w := range all {
			w.last = -1
			if !w.made {
				continue
			}
			for _, a := range all[i+1:] {
				if a.made && a.covers(w.byteSet) {
					break
				}
				if !a.made && a.meets(w.byteSet) {
					w.last = a.task
				}
			}
		}
	}
}

// valueOf is the value that a task of a layer reads or makes. A task may begin to read before a view: what is there is a part of
// what the view shows.
func (s *Segment) valueOf(l *anec.Layer, o *operand) *anec.Value {
	touched := s.Touched[s.StandsFor[l]]
	if o.made {
		return s.valueAt(slices.Concat(l.Tops, touched), o)
	}
	for values := slices.Concat(l.Reads(), touched, l.Tops); len(values) > 0; {
		if v := s.valueAt(values, o); v != nil {
			return v
		}
		var shown []*anec.Value
		for _, v := range values {
			if v.Def != nil && IsView(v.Def) {
				shown = append(shown, v.Def.Bottoms[0])
			}
		}
		values = shown
	}
	return nil
}

// nameOf is how an operand of a task is called. What tasks of one layer keep between them has no name of its own, nor has a
// constant that was packed for them. A task that stores a view anew, where it lies, reads what the view shows.
func (s *Segment) nameOf(o *operand, task []operand) string {
	v := o.value
	stores := func(other operand) bool { return other.made && other.value == v }
	switch {
	case v != nil:
		if !o.made && slices.ContainsFunc(task, stores) {
			for v.Def != nil && IsView(v.Def) {
				v = v.Def.Bottoms[0]
			}
		}
		return "%" + v.Name
	case o.at.Region == InPort:
		return "%" + s.Plan.Ports[o.at.Port].Value.Name
	case o.at.Region == InPacked:
		return "constant"
	}
	return "between"
}

// valueAt is the first of some values that begins where an operand does, or lies around it.
func (s *Segment) valueAt(values []*anec.Value, o *operand) (around *anec.Value) {
	for _, v := range values {
		at, ok := s.Layout.Spots[v]
		switch {
		case !ok || at.Buffer.ID != o.Base:
		case at.Offset == o.Offset:
			return v
		case around == nil && at.Offset <= o.Offset && o.Offset < at.End(v.Type):
			around = v
		}
	}
	return around
}

// touchedBytes are the bytes that tasks touch, by region: each operand from its first byte to its last, and what several touch
// once.
func touchedBytes(tasks [][]operand) map[Region]int64 {
	runs := map[Region][][2]int64{}
	for _, list := range tasks {
		for i := range list {
			o := &list[i]
			set, shift := bytesOf(&o.Operand), o.at.Offset-o.Offset
			runs[o.at.Region] = append(runs[o.at.Region], [2]int64{set.lo + shift, set.hi() + shift})
		}
	}
	touched := map[Region]int64{}
	for r, list := range runs {
		slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		end := int64(0)
		for _, run := range list {
			touched[r] += max(run[1]-max(run[0], end), 0)
			end = max(end, run[1])
		}
	}
	return touched
}
