package hwx

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/td"
)

// Weights are found in a container by two ways: by the symbol of a kernel
// stream, as the stream's halfwords (PatchStream), and by the task that loads
// them, as numbers of the layer (PatchWeights). Neither changes a task: where a
// kernel stream begins and how long it is stays as it was.

// A Weight is a number of a layer and the value that it is to get.
type Weight struct {
	Procedure int    // of several: its index; other procedures that share the kernel get the value too
	Task      int    // which task loads it
	Bias      bool   // the bias of output Out, not a weight
	Out       int    // output channel; groups follow each other
	In        int    // input channel of its group
	Y, X      int    // place in the window
	Value     uint16 // fp16, or a byte where the kernel's format is td.KernelInt8
}

func (w Weight) String() string {
	if w.Bias {
		return fmt.Sprintf("bias of task %d, output %d", w.Task, w.Out)
	}
	return fmt.Sprintf("weight of task %d, output %d, input %d, row %d, column %d", w.Task, w.Out, w.In, w.Y, w.X)
}

// A Place is where a weight is.
type Place struct {
	Section *Section
	Offset  int64 // in the section
	Bytes   int   // 1 or 2
}

// FileOffset is the place in the file.
func (p Place) FileOffset() int64 { return int64(p.Section.Offset) + p.Offset }

// A WeightMap knows where the weights of a container are that tasks load as kernel
// streams.
type WeightMap struct {
	tasks []taskKernel
}

// taskKernel is the kernel of one task.
type taskKernel struct {
	td.Kernel
	none    string // why there are no weights in the file, or ""
	section *Section
	streams []span // by engine, in the section
}

type span struct{ offset, size int64 }

// Weights finds the kernels of all tasks of a container with one program.
func (f *File) Weights() (*WeightMap, error) {
	p, err := f.Procedure("")
	if err != nil {
		return nil, err
	}
	return p.Weights()
}

// Weights finds the kernels of all tasks.
func (p *Procedure) Weights() (*WeightMap, error) {
	placed, err := p.Tasks()
	if err != nil {
		return nil, err
	}
	m := &WeightMap{}
	var regs *td.Registers
	for i, t := range placed {
		layout := td.LayoutOf(t.Version)
		if layout.Kernels == nil {
			return nil, fmt.Errorf("task %d: weights of %v tasks are operands, not kernel streams", i, t.Version)
		}
		if regs == nil {
			regs = td.NewRegisters(layout)
		}
		regs.Apply(t.Task)
		k, err := p.file.taskKernel(p.Program, t.Task, regs)
		if err != nil {
			return nil, damage(int64(p.Text.Offset)+int64(t.Offset), "task %d: %v", i, err)
		}
		m.tasks = append(m.tasks, k)
	}
	return m, nil
}

func (f *File) taskKernel(p *Program, t *td.Task, regs *td.Registers) (k taskKernel, err error) {
	var loads bool
	if k.Kernel, loads, err = td.KernelOf(regs); err != nil {
		return k, err
	}
	kernels := td.LayoutOf(t.Version).Kernels
	base, _ := t.Get(kernels.Base)
	enabled, _ := t.Get(kernels.Enable)
	if loads && k.Engines > len(kernels.Streams) {
		return k, fmt.Errorf("%d engines, of which %d have kernel streams", k.Engines, len(kernels.Streams))
	}
	if !loads || enabled == 0 {
		k.none = "it loads no kernel"
		return k, nil
	}
	section, start := f.Lookup(p.Bases[base])
	if section == nil || section.Data == nil {
		k.none = fmt.Sprintf("its kernel is at run time behind base %d", base)
		return k, nil
	}
	k.section = section
	k.streams = make([]span, len(kernels.Streams))
	for e, c := range kernels.Streams {
		if regs.Value(c.Enable) == 0 {
			continue
		}
		s := span{start + int64(regs.Value(c.Offset)), int64(regs.Value(c.Size))}
		if s.size > int64(section.Size) || s.offset > int64(section.Size)-s.size {
			return k, fmt.Errorf("kernel stream %d has 0x%x bytes at 0x%x of section %s,%s with 0x%x", e, s.size, s.offset, section.Segment, section.Name, section.Size)
		}
		k.streams[e] = s
	}
	return k, nil
}

// kernel is the kernel of a weight's task.
func (m *WeightMap) kernel(w Weight) (*taskKernel, error) {
	if w.Task < 0 || w.Task >= len(m.tasks) {
		return nil, fmt.Errorf("%v: there are %d tasks", w, len(m.tasks))
	}
	k := &m.tasks[w.Task]
	if k.none != "" {
		return nil, fmt.Errorf("%v: no weights to change: %s", w, k.none)
	}
	return k, nil
}

// Kernel is the shape of a task's weights. ok is false if the task has none in
// the file.
func (m *WeightMap) Kernel(task int) (k td.Kernel, ok bool) {
	found, err := m.kernel(Weight{Task: task})
	if err != nil {
		return td.Kernel{}, false
	}
	return found.Kernel, true
}

// Locate finds the place of a weight. One of a stream without its zeros has no
// place of its own; PatchWeights can change it all the same.
func (m *WeightMap) Locate(w Weight) (Place, error) {
	k, err := m.kernel(w)
	if err != nil {
		return Place{}, err
	}
	if k.ZeroSkip {
		return Place{}, fmt.Errorf("%v: its stream leaves out zeros", w)
	}
	engine, offset, ok := k.Locate(w.Out, w.In, w.Y, w.X)
	if w.Bias {
		engine, offset, ok = k.LocateBias(w.Out)
	}
	if !ok {
		return Place{}, fmt.Errorf("%v: the kernel has %d groups of %d outputs, %d inputs, %d×%d taps, bias %t", w, k.Groups, k.Outputs, k.Inputs, k.Height, k.Width, k.Kernel.Bias)
	}
	size := 2
	if k.Format == td.KernelInt8 {
		size = 1
	}
	s := k.streams[engine]
	if int64(offset+size) > s.size {
		return Place{}, fmt.Errorf("%v: at 0x%x of the stream of engine %d, which has 0x%x bytes", w, offset, engine, s.size)
	}
	return Place{k.section, s.offset + int64(offset), size}, nil
}

// PatchWeights gives weights new values in a copy of a container and changes
// nothing else. In a stream that leaves out zeros, the values that follow a
// changed one may move; that is an error where the stream then has another
// size.
func PatchWeights(container []byte, weights ...Weight) ([]byte, error) {
	f, err := NewFile(container)
	if err != nil {
		return nil, err
	}
	procedures, err := f.Procedures()
	if err != nil {
		return nil, err
	}
	maps := make([]*WeightMap, len(procedures))
	patched := bytes.Clone(container)
	type task struct{ procedure, task int }
	packed := make(map[task][]Weight) // of zero-skipping streams
	for _, w := range weights {
		if w.Procedure < 0 || w.Procedure >= len(maps) {
			return nil, fmt.Errorf("%v: procedure %d of %d", w, w.Procedure, len(maps))
		}
		m := maps[w.Procedure]
		if m == nil {
			if m, err = procedures[w.Procedure].Weights(); err != nil {
				return nil, err
			}
			maps[w.Procedure] = m
		}
		k, err := m.kernel(w)
		if err != nil {
			return nil, err
		}
		if k.ZeroSkip {
			at := task{w.Procedure, w.Task}
			packed[at] = append(packed[at], w)
			continue
		}
		p, err := m.Locate(w)
		if err != nil {
			return nil, err
		}
		if p.Bytes == 1 {
			if w.Value > 0xff {
				return nil, fmt.Errorf("%v: value 0x%x, want a byte", w, w.Value)
			}
			patched[p.FileOffset()] = byte(w.Value)
		} else {
			le.PutUint16(patched[p.FileOffset():], w.Value)
		}
	}
	for at, list := range packed {
		if err := maps[at.procedure].tasks[at.task].repack(patched, list); err != nil {
			return nil, err
		}
	}
	return patched, nil
}

// repack changes weights of streams that leave out zeros.
func (k *taskKernel) repack(container []byte, weights []Weight) error {
	streams := make([][]byte, k.Engines)
	for e := range streams {
		at := int64(k.section.Offset) + k.streams[e].offset
		streams[e] = container[at : at+k.streams[e].size]
	}
	values, err := k.Unpack(streams)
	if err != nil {
		return err
	}
	for _, w := range weights {
		switch {
		case w.Out < 0 || w.Out >= k.Groups*k.Outputs || w.Bias && !k.Kernel.Bias,
			!w.Bias && (w.In < 0 || w.In >= k.Inputs || w.Y < 0 || w.Y >= k.Height || w.X < 0 || w.X >= k.Width):
			return fmt.Errorf("%v: the kernel has %d groups of %d outputs, %d inputs, %d×%d taps, bias %t", w, k.Groups, k.Outputs, k.Inputs, k.Height, k.Width, k.Kernel.Bias)
		case w.Bias:
			values.Bias[w.Out] = w.Value
		default:
			values.Values[((w.Out*k.Inputs+w.In)*k.Height+w.Y)*k.Width+w.X] = w.Value
		}
	}
	again, err := k.Pack(values)
	if err != nil {
		return err
	}
	for e, s := range again {
		if len(s) != len(streams[e]) {
			return fmt.Errorf("%v: the stream of engine %d then has 0x%x bytes, its place in the file 0x%x", weights[0], e, len(s), len(streams[e]))
		}
	}
	for e, s := range again {
		copy(streams[e], s)
	}
	return nil
}

// PatchStream gives halfwords of a kernel stream new values in a copy of a
// container and changes nothing else. The symbol is that of the stream, and
// first counts halfwords from its beginning.
func PatchStream(container []byte, symbol string, first int, values []uint16) ([]byte, error) {
	f, err := NewFile(container)
	if err != nil {
		return nil, err
	}
	streams, err := f.Streams()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(streams, func(s Stream) bool { return s.Symbol == symbol })
	if i < 0 {
		return nil, fmt.Errorf("no kernel stream %q among %d", symbol, len(streams))
	}
	s := streams[i]
	if have := s.Size / 2; first < 0 || int64(first) > have || int64(len(values)) > have-int64(first) {
		return nil, fmt.Errorf("stream %q: halfwords %d to %d of %d", symbol, first, first+len(values), have)
	}
	patched := bytes.Clone(container)
	at := int64(s.Section.Offset) + s.Offset + 2*int64(first)
	for i, v := range values {
		le.PutUint16(patched[at+2*int64(i):], v)
	}
	return patched, nil
}
