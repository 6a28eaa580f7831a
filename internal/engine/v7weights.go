package engine

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/kernel"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Kernel streams of version-7 tasks (h13 3.3): weights, biases and the table.

// A weightSet is the unpacked content of kernel streams.
type weightSet struct {
	values strided.Weights
	bias   []float32 // [group][output], or nil
}

// An activation is an activation table, made ready.
type activation struct {
	f func(float32) float32
}

// weightKey says which streams a weightSet came from. Tasks that work on parts
// of one tensor load the same ones.
type weightKey struct {
	kernel  td.Kernel
	memory  int
	offsets [td.KernelChannels]int
	sizes   [td.KernelChannels]int
}

// maxExpansion bounds the unpacked weights of a program by the size of its
// constants. A mask byte of a zero-skipping stream stands for eight weights of
// four bytes; more than that takes streams that lie over each other.
const maxExpansion = 64

// runtimeWeights are weights that are made at run time (h13 3.3): by an earlier
// task, or by the caller in a port.
type runtimeWeights struct {
	memory int
	first  []int // byte of the first weight of each output, all groups counted
	stride int   // bytes from one weight to the next
	read   kernel.Reading
}

// streams finds the kernel streams of the engines that have outputs.
func (b *binder) streams(k *td.Kernel) (weightKey, error) {
	key := weightKey{kernel: *k}
	memory, base, err := b.window(td.V7KernelBase[0], td.V7KernelBaseEnable[0])
	if err != nil {
		return key, err
	}
	m := &b.p.memories[memory]
	if m.kind == text {
		return key, b.refuse(td.V7KernelBase[0], "loads kernels from %v", m)
	}
	key.memory = memory
	for e := range k.Engines {
		ch := &td.V7KernelChannel[e]
		want := k.StreamBytes(e)
		if k.ZeroSkip {
			want = 0
		}
		if !b.flag(ch.Config.Enable) {
			if k.StreamBytes(e) > 0 {
				return key, b.refuse(ch.Config.Enable, "engine %d has outputs and no kernel stream", e)
			}
			continue
		}
		offset, size := int64(base)+int64(b.value(ch.Offset)), int64(b.value(ch.Size))
		if size < int64(want) {
			return key, b.refuse(ch.Size, "the weights of engine %d take %#x bytes", e, want)
		}
		if size > int64(m.size) || offset > int64(m.size)-size {
			return key, b.refuse(ch.Offset, "bytes %#x to %#x are outside %v with %#x bytes", offset, offset+size, m, m.size)
		}
		key.offsets[e], key.sizes[e] = int(offset), int(size)
		m.reach = max(m.reach, int(offset+size))
	}
	return key, nil
}

// stream returns the bytes of an engine's stream.
func (k *weightKey) stream(data []byte, engine int) []byte {
	return data[k.offsets[engine]:][:k.sizes[engine]]
}

// kernelShape reads the shape of the kernel that the task loads.
func (b *binder) kernelShape() (td.Kernel, error) {
	k, ok, err := td.KernelOf(b.registers)
	switch {
	case err != nil:
		return k, b.refuse(td.V7KernelEnable, "%v", err)
	case !ok:
		return k, b.refuse(td.V7KernelEnable, "the task needs kernel streams")
	case k.Engines > td.KernelChannels:
		return k, b.refuse(td.V7EnginesLog2, "there are %d engines", td.KernelChannels)
	case b.value(td.V7NEZeroSkip) != b.value(td.V7KernelZeroSkip):
		return k, b.refuse(td.V7NEZeroSkip, "%s says otherwise", td.V7KernelZeroSkip)
	}
	return k, nil
}

// bindWeights binds the weights of a convolution. If they are made at run time,
// it returns the operand that they are.
func (b *binder) bindWeights(u *arrayUnit) (*operand, error) {
	k, err := b.kernelShape()
	if err != nil {
		return nil, err
	}
	key, err := b.streams(&k)
	if err != nil {
		return nil, err
	}
	if b.p.memories[key.memory].kind != constant {
		return b.bindRuntimeWeights(u, &k, &key)
	}
	if w := b.p.weights[key]; w != nil {
		u.weights = w
		return nil, nil
	}
	w, size, err := b.p.unpack(&key)
	if err != nil {
		return nil, b.refuse(td.V7KernelChannel[0].Offset, "%v", err)
	}
	if b.p.weightBytes += size; b.p.weightBytes > maxExpansion*int64(b.p.memories[key.memory].size) {
		return nil, b.refuse(td.V7Cout, "unpacked, the kernels take more than %d times the constants", maxExpansion)
	}
	b.p.weights[key] = w
	u.weights = w
	return nil, nil
}

// unpack reads the weights of kernel streams. It returns their size, too.
func (p *Program) unpack(key *weightKey) (*weightSet, int64, error) {
	streams := make([][]byte, key.kernel.Engines)
	for e := range streams {
		streams[e] = key.stream(p.memories[key.memory].data, e)
	}
	raw, err := key.kernel.Unpack(streams)
	if err != nil {
		return nil, 0, err
	}
	if f := key.kernel.Format; f != td.KernelFP16 {
		for i, v := range raw.Values {
			raw.Values[i] = tensor.ToF16(f.Float(v)) // fp16 has every byte
		}
	}
	read := p.arrayReading()
	w := &weightSet{values: strided.Weights{Values: raw.Values, Read: read}}
	if raw.Bias != nil {
		w.bias = make([]float32, len(raw.Bias))
		for i, h := range raw.Bias {
			w.bias[i] = tensor.F16(h)
		}
		read.Apply(w.bias)
	}
	return w, 4 * int64(len(raw.Values)+len(raw.Bias)), nil
}

// arrayReading is what happens to weights as the multiply array reads them.
func (p *Program) arrayReading() kernel.Reading {
	return kernel.Reading{NaNToInf: p.numerics.NaNToInf, FlushSubnormals: p.numerics.FlushArraySubnormals}
}

// bindRuntimeWeights binds weights in a memory that changes. The layout is that
// of a stream from the file.
func (b *binder) bindRuntimeWeights(u *arrayUnit, k *td.Kernel, key *weightKey) (*operand, error) {
	switch {
	case k.ZeroSkip:
		return nil, b.refuse(td.V7NEZeroSkip, "a zero-skipping kernel that is made at run time is not known")
	case k.Format != td.KernelFP16:
		return nil, b.refuse(td.V7NEKernelFormat, "a kernel of bytes that is made at run time is not known")
	case k.Bias:
		return nil, b.refuse(td.V7NEBias, "a bias in a kernel that is made at run time is not known")
	case k.Table:
		return nil, b.refuse(td.V7NENonLinear, "a table in a kernel that is made at run time is not known")
	}
	m := &b.p.memories[key.memory]
	total := 0
	for _, size := range key.sizes {
		total += size
	}
	if total > m.size {
		return nil, b.refuse(td.V7KernelChannel[0].Size, "the streams overlap: together they have %#x bytes, %v has %#x", total, m, m.size)
	}
	n := k.Groups * k.Outputs
	count := u.shape.Weights()
	all := operand{memory: key.memory, base: td.V7KernelBase[0]}
	r := &runtimeWeights{
		memory: key.memory, first: make([]int, n), stride: 2 * k.Lanes, read: b.p.arrayReading(),
	}
	for o := range r.first {
		engine, offset, ok := k.Locate(o, 0, 0, 0)
		if !ok {
			return nil, b.refuse(td.V7Cout, "output %d has no weights", o)
		}
		r.first[o] = key.offsets[engine] + offset
		row := operand{memory: key.memory, base: td.V7KernelChannel[engine].Offset}
		row.region = newRegion(r.first[o], 2, []loop{{count, r.stride}}, nil)
		if lo, hi := row.region.hull(); lo < 0 || hi > int64(m.size) {
			return nil, b.refuse(row.base, "bytes %#x to %#x are outside %v with %#x bytes", lo, hi, m, m.size)
		}
		if err := b.checkWritten(&row); err != nil {
			return nil, err
		}
		all.region.blocks = append(all.region.blocks, row.region.blocks...)
	}
	u.runtime = r
	return &all, nil
}

// bindTable binds the activation table that begins the kernel streams.
func (b *binder) bindTable() (*activation, error) {
	k, err := b.kernelShape()
	if err != nil {
		return nil, err
	}
	key, err := b.streams(&k)
	if err != nil {
		return nil, err
	}
	if m := &b.p.memories[key.memory]; m.kind != constant {
		return nil, b.refuse(td.V7KernelBase[0], "a table in %v is not known", m)
	}
	if a := b.p.tables[key]; a != nil {
		return a, nil
	}
	a, err := b.p.decodeTable(&key)
	if err != nil {
		return nil, b.refuse(td.V7NENonLinear, "%v", err)
	}
	b.p.tables[key] = a
	return a, nil
}

// decodeTable reads the table of kernel streams. All have the same one: what
// different ones would mean is not known.
func (p *Program) decodeTable(key *weightKey) (*activation, error) {
	data := p.memories[key.memory].data
	stream := key.stream(data, 0)
	table, err := td.DecodeTable(stream)
	if err != nil {
		return nil, err
	}
	for e := 1; e < key.kernel.Engines; e++ {
		if s := key.stream(data, e); len(s) >= td.TableBytes && !bytes.Equal(s[:td.TableBytes], stream[:td.TableBytes]) {
			return nil, fmt.Errorf("the activation table of engine %d is not that of engine 0", e)
		}
	}
	f, err := table.Func()
	if err != nil {
		return nil, err
	}
	if form := table.Form(); p.numerics.DropZeroSign && (form == td.FormReciprocal || form == td.FormRSqrt) {
		signed := f
		f = func(x float32) float32 {
			if x == 0 {
				x = 0 // the positive one
			}
			return signed(x)
		}
	}
	return &activation{f}, nil
}

// Reload takes the constants of another container, which must be the same but
// for them: as hwx.PatchWeights makes it. Weights and tables are unpacked
// again, derived memory is made again, and nothing else is bound anew. External
// weights stay. Contexts stay valid. No Run may be under way. After an error, the
// program is as it was.
func (p *Program) Reload(file *hwx.File) error {
	next := *p
	next.memories = slices.Clone(p.memories)
	found := make([]bool, len(next.memories))
	for _, s := range file.Sections() {
		i, offset, ok := p.find(s.Addr)
		if !ok || offset != 0 {
			continue
		}
		if m := &next.memories[i]; m.kind == text && !bytes.Equal(m.data, s.Data) {
			return programError("the container has other tasks")
		}
		if next.memories[i].kind != constant || next.memories[i].external {
			continue
		}
		if len(s.Data) != next.memories[i].size {
			return programError("%v: %#x bytes of constants, the program has %#x", &next.memories[i], len(s.Data), next.memories[i].size)
		}
		next.memories[i].data, found[i] = s.Data, true
	}
	for i := range found {
		if m := &next.memories[i]; m.kind == constant && !m.external && !found[i] {
			return programError("%v: the container has no such constants", &next.memories[i])
		}
	}
	weights := make(map[weightKey]*weightSet, len(p.weights))
	for key := range p.weights {
		w, _, err := next.unpack(&key)
		if err != nil {
			return programError("reloading weights: %v", err)
		}
		weights[key] = w
	}
	tables := make(map[weightKey]*activation, len(p.tables))
	for key := range p.tables {
		a, err := next.decodeTable(&key)
		if err != nil {
			return programError("reloading tables: %v", err)
		}
		tables[key] = a
	}
	// Steps point to the sets, so these stay where they are.
	for key, w := range weights {
		*p.weights[key] = *w
	}
	for key, a := range tables {
		*p.tables[key] = *a
	}
	p.memories = next.memories
	p.derive()
	p.pack()
	return nil
}
