package engine

import (
	"bytes"
	"fmt"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Kernel streams (h13 3.3): weights, biases and the table.

// weightKey says which streams weights came from. Tasks that work on parts
// of one tensor load the same ones.
type weightKey struct {
	kernel  td.Kernel
	memory  int
	offsets [maxEngines]int
	sizes   [maxEngines]int
}

// maxEngines is how many engines have kernel streams.
const maxEngines = 16

// maxExpansion bounds the unpacked weights of a program by the size of its
// constants. A mask byte of a zero-skipping stream stands for eight weights of
// four bytes; more than that takes streams that lie over each other.
const maxExpansion = 64

// bindKernel binds the kernel of a task that has one: weights from the file, or
// such that are made at run time (h13 3.3) by an earlier task or by the caller in
// a port; and the table.
func (b *unitBinder) bindKernel() error {
	if !b.NeedsKernel() {
		return nil
	}
	key, err := b.streams()
	if err != nil {
		return err
	}
	if !b.Unity {
		bind := b.bindWeights
		if b.p.memories[key.memory].kind != constant {
			bind = b.bindRuntimeWeights
		}
		if err := bind(&key); err != nil {
			return err
		}
	}
	if b.NonLinear == units.Table {
		return b.bindTable(&key)
	}
	return nil
}

// streams finds the kernel streams of the engines that have outputs.
func (b *unitBinder) streams() (key weightKey, err error) {
	o := b.Kernel
	if o == nil {
		return key, refuse(units.PartKernel, "the task needs kernel streams")
	}
	key.kernel = b.KernelShape()
	k := &key.kernel
	if err := k.Check(); err != nil {
		return key, refuse(units.PartKernel, "%v", err)
	}
	if k.Engines > maxEngines || len(o.Offsets) < k.Engines || len(o.Sizes) < k.Engines {
		return key, refuse(units.PartKernel, "%d engines, of which %d have kernel streams", k.Engines, len(o.Offsets))
	}
	memory, base, err := b.p.window(o.Base, units.PartKernelBase)
	if err != nil {
		return key, err
	}
	m := &b.p.memories[memory]
	if m.kind == text {
		return key, refuse(units.PartKernelBase, "loads kernels from %v", m)
	}
	key.memory = memory
	for e := range k.Engines {
		want := k.StreamBytes(e)
		offset, size := int64(base)+int64(o.Offsets[e]), int64(o.Sizes[e])
		switch {
		case want == 0 && size == 0:
			continue
		case size < 0 || size < int64(want) && !k.ZeroSkip:
			return key, refuse(units.PartStreamSize(e), "the weights of engine %d take %#x bytes", e, want)
		case offset < 0 || size > int64(m.size) || offset > int64(m.size)-size:
			return key, refuse(units.PartStream(e), "bytes %#x to %#x are outside %v with %#x bytes", offset, offset+size, m, m.size)
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

// bindWeights binds weights from the file.
func (b *unitBinder) bindWeights(key *weightKey) error {
	if w := b.p.weights[*key]; w != nil {
		b.Weights = w
		return nil
	}
	w, size, err := b.p.unpack(key)
	if err != nil {
		return refuse(units.PartStream(0), "%v", err)
	}
	if b.p.weightBytes += size; b.p.weightBytes > maxExpansion*int64(b.p.memories[key.memory].size) {
		return refuse(units.PartOutC, "unpacked, the kernels take more than %d times the constants", maxExpansion)
	}
	w.Number = len(b.p.bound)
	b.p.bound = append(b.p.bound, boundWeights{*key, w})
	b.p.weights[*key] = w
	b.Weights = w
	return nil
}

// boundWeights are weights that tasks have, and where they came from.
type boundWeights struct {
	key     weightKey
	weights *strided.Weights
}

// unpack reads the weights of kernel streams. It returns their size, too.
func (p *Program) unpack(key *weightKey) (*strided.Weights, int64, error) {
	streams := make([][]byte, key.kernel.Engines)
	for e := range streams {
		streams[e] = key.stream(p.memories[key.memory].data, e)
	}
	return p.unpackStreams(key, streams)
}

// unpackStreams is unpack of streams that lie anywhere.
func (p *Program) unpackStreams(key *weightKey, streams [][]byte) (*strided.Weights, int64, error) {
	raw, err := key.kernel.Unpack(streams)
	if err != nil {
		return nil, 0, err
	}
	if f := key.kernel.Format; f != td.KernelFP16 {
		for i, v := range raw.Values {
			raw.Values[i] = tensor.ToF16(f.Float(v)) // fp16 has every byte
		}
	}
	return strided.NewWeights(raw.Values, raw.Bias, p.rules), 4 * int64(len(raw.Values)+len(raw.Bias)), nil
}

// bindRuntimeWeights binds weights in a memory that changes. The layout is that
// of a stream from the file.
func (b *unitBinder) bindRuntimeWeights(key *weightKey) error {
	k := &key.kernel
	switch {
	case k.ZeroSkip:
		return refuse(units.PartZeroSkip, "a zero-skipping kernel that is made at run time is not known")
	case k.Format != td.KernelFP16:
		return refuse(units.PartKernelFormat, "a kernel of bytes that is made at run time is not known")
	case k.Bias:
		return refuse(units.PartBias, "a bias in a kernel that is made at run time is not known")
	case k.Table:
		return refuse(units.PartTable, "a table in a kernel that is made at run time is not known")
	}
	m := &b.p.memories[key.memory]
	total := 0
	for _, size := range key.sizes {
		total += size
	}
	if total > m.size {
		return refuse(units.PartStreamSize(0), "the streams overlap: together they have %#x bytes, %v has %#x", total, m, m.size)
	}
	count := k.Inputs * k.Height * k.Width
	all := new(place)
	all.Memory = key.memory
	b.Runtime = &strided.RuntimeWeights{Memory: key.memory, First: make([]int, k.Groups*k.Outputs), Stride: 2 * k.Lanes}
	for o := range b.Runtime.First {
		engine, offset, ok := k.Locate(o, 0, 0, 0)
		if !ok {
			return refuse(units.PartOutC, "output %d has no weights", o)
		}
		first := key.offsets[engine] + offset
		b.Runtime.First[o] = first
		row := newRegion(first, 2, []loop{{count, b.Runtime.Stride}}, nil)
		if lo, hi := row.hull(); lo < 0 || hi > int64(m.size) {
			return refuse(units.PartStream(engine), "bytes %#x to %#x are outside %v with %#x bytes", lo, hi, m, m.size)
		}
		if err := b.p.unwritten(key.memory, &row); err != nil {
			return refuse(units.PartStream(engine), "%v", err)
		}
		all.region.blocks = append(all.region.blocks, row.blocks...)
	}
	b.read(all, units.PartKernelBase)
	return nil
}

// bindTable binds the activation table that begins the kernel streams.
func (b *unitBinder) bindTable(key *weightKey) error {
	if m := &b.p.memories[key.memory]; m.kind != constant {
		return refuse(units.PartKernelBase, "a table in %v is not known", m)
	}
	if b.Table = b.p.tables[*key]; b.Table != nil {
		return nil
	}
	a, err := b.p.decodeTable(key)
	if err != nil {
		return refuse(units.PartTable, "%v", err)
	}
	b.p.tables[*key] = a
	b.Table = a
	return nil
}

// decodeTable reads the table of kernel streams. All have the same one: what
// different ones would mean is not known.
func (p *Program) decodeTable(key *weightKey) (*strided.Activation, error) {
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
	return &strided.Activation{F: f, Curve: strided.CurveOf(table)}, nil
}
