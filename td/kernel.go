package td

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/espalier-ane/espalier/tensor"
)

// A Kernel is the shape of the weights that a version-7 array task loads: how
// many there are and how they are dealt to the engines (h13 3.3).
//
// Output channel o of a group belongs to lane group o / Lanes, lane o % Lanes.
// Lane group p goes to engine p % Engines. The stream of an engine holds its
// lane groups one after the other.
type Kernel struct {
	Groups           int // groups with weights of their own
	Outputs          int // output channels of a group
	Inputs           int // input channels of one output
	Height, Width    int
	StrideY, StrideX int  // zero-skipping streams depend on them
	Small            bool // and on this: the task is for small images (V7SmallSource)

	Lanes, Engines int

	Format   KernelFormat
	Table    bool // a 128-byte activation table begins each stream
	Bias     bool // a row of biases begins each lane group
	ZeroSkip bool // zeros are left out, in the form of zeroskip.go
}

// KernelFormat is how a weight is stored, by the numbers of V7NEKernelFormat.
type KernelFormat uint8

// The formats of weights.
const (
	KernelInt8 KernelFormat = 1 // signed bytes; the recorded comparison is the one program with them
	KernelFP16 KernelFormat = 2
)

// bytes is the size of a weight.
func (f KernelFormat) bytes() int {
	if f == KernelInt8 {
		return 1
	}
	return 2
}

// Float returns the number that a weight stands for.
func (f KernelFormat) Float(v uint16) float32 {
	if f == KernelInt8 {
		return float32(int8(v))
	}
	return tensor.F16(v)
}

// Weights are the numbers of a kernel: fp16 bits, or bytes.
type Weights struct {
	Values []uint16 // [group][output][input][y][x], x fastest
	Bias   []uint16 // [group][output], if the kernel has biases
	Table  []byte   // TableBytes bytes, if the kernel has a table
}

// streamAlign is the granule of kernel streams and of the blocks of groups.
const streamAlign = 64

// maxKernelValues bounds what a kernel may have, so that sizes stay in range.
const maxKernelValues = 1 << 32

// KernelOf reads the shape of a task's kernel from the registers. ok is false if
// the task loads none.
func KernelOf(r *Registers) (k Kernel, ok bool, err error) {
	if r.layout.Kernels == nil {
		return Kernel{}, false, nil
	}
	return r.layout.Kernels.Shape(r)
}

func v7KernelOf(r *Registers) (k Kernel, ok bool, err error) {
	if r.Value(V7TaskType) != TypeArray || r.Value(V7KernelEnable) == 0 {
		return Kernel{}, false, nil
	}
	k = Kernel{
		Groups:   int(r.Value(V7Groups)),
		Outputs:  int(r.Value(V7Cout)),
		Inputs:   int(r.Value(V7Cin)),
		Height:   int(r.Value(V7KernelHeight)),
		Width:    int(r.Value(V7KernelWidth)),
		StrideY:  int(r.Value(V7StrideY)),
		StrideX:  int(r.Value(V7StrideX)),
		Lanes:    1 << r.Value(V7LanesLog2),
		Engines:  1 << r.Value(V7EnginesLog2),
		Format:   KernelFormat(r.Value(V7NEKernelFormat)),
		Table:    r.Value(V7NENonLinear) == NonLinearTable,
		Bias:     r.Value(V7NEBias) != 0,
		ZeroSkip: r.Value(V7KernelZeroSkip) != 0,
		Small:    r.Value(V7SmallSource) != 0,
	}
	if r.Value(V7Unicast) != 0 {
		k.Inputs = int(r.Value(V7UnicastInputs))
	}
	if r.Value(V7NEUnityKernel) != 0 {
		// Weights of 1 are not stored: the stream is the table alone.
		k.Inputs, k.Format = 0, KernelFP16
	}
	return k, true, k.Check()
}

// Check says what is wrong with the shape, nil if there is a way to store it.
func (k *Kernel) Check() error {
	for _, f := range []struct {
		name   string
		value  int
		lo, hi int
	}{
		{"groups", k.Groups, 1, 1<<13 - 1},
		{"outputs", k.Outputs, 1, 1<<17 - 1},
		{"inputs", k.Inputs, 0, 1<<17 - 1},
		{"height", k.Height, 1, 31},
		{"width", k.Width, 1, 31},
		{"vertical stride", k.StrideY, 1, 3},
		{"horizontal stride", k.StrideX, 1, 3},
		{"lanes", k.Lanes, 1, 128},
		{"engines", k.Engines, 1, KernelChannels},
	} {
		if f.value < f.lo || f.value > f.hi {
			return fmt.Errorf("td: kernel: %s %d: want %d to %d", f.name, f.value, f.lo, f.hi)
		}
	}
	switch {
	case k.Format != KernelFP16 && k.Format != KernelInt8:
		return fmt.Errorf("td: kernel: format %d is not known", k.Format)
	case k.Format == KernelInt8 && (k.Bias || k.ZeroSkip):
		return fmt.Errorf("td: kernel: bytes with biases or left-out zeros have no known form")
	}
	if bits.OnesCount(uint(k.Lanes)) != 1 || bits.OnesCount(uint(k.Engines)) != 1 {
		return fmt.Errorf("td: kernel: %d lanes, %d engines: want powers of 2", k.Lanes, k.Engines)
	}
	if n := int64(k.Groups) * int64(k.Outputs+k.Lanes) * int64(k.rows()); n > maxKernelValues {
		return fmt.Errorf("td: kernel: %d values are more than %d", n, int64(maxKernelValues))
	}
	return nil
}

// taps is the number of weights of one output.
func (k *Kernel) taps() int { return k.Inputs * k.Height * k.Width }

// rows is the number of rows of a lane group, the bias row among them.
func (k *Kernel) rows() int {
	if k.Bias {
		return k.taps() + 1
	}
	return k.taps()
}

// Values returns the number of weights.
func (k *Kernel) Values() int { return k.Groups * k.Outputs * k.taps() }

// laneGroups is the number of lane groups of a group.
func (k *Kernel) laneGroups() int { return (k.Outputs + k.Lanes - 1) / k.Lanes }

// laneGroupsOf is the number of lane groups that an engine has of a group. It is
// 0 for the last of four engines with three outputs.
func (k *Kernel) laneGroupsOf(engine int) int {
	return (k.laneGroups() - engine + k.Engines - 1) / k.Engines
}

// blockBytes is the size of a group in the stream of an engine, with its
// padding. The last block needs none of its own: the stream has it.
func (k *Kernel) blockBytes(engine int) int {
	n := k.Format.bytes() * k.laneGroupsOf(engine) * k.rows() * k.Lanes
	if k.Groups > 1 {
		n = alignUp(n, streamAlign)
	}
	return n
}

// tableBytes is the size of what stands before the weights.
func (k *Kernel) tableBytes() int {
	if k.Table {
		return TableBytes
	}
	return 0
}

// StreamBytes returns the size of an engine's stream, 0 for an engine that has no
// outputs. A zero-skipping stream has no size before it is packed.
func (k *Kernel) StreamBytes(engine int) int {
	if k.laneGroupsOf(engine) == 0 {
		return 0
	}
	return alignUp(k.tableBytes()+k.Groups*k.blockBytes(engine), streamAlign)
}

// Locate returns the stream and the byte offset of a weight: of output o, all
// groups counted, input i, row y and column x. ok is false if there is none or
// the streams leave out zeros.
func (k *Kernel) Locate(o, i, y, x int) (engine, offset int, ok bool) {
	if i < 0 || i >= k.Inputs || y < 0 || y >= k.Height || x < 0 || x >= k.Width {
		return 0, 0, false
	}
	row := (i*k.Height+y)*k.Width + x
	if k.Bias {
		row++
	}
	return k.locateRow(o, row)
}

// LocateBias returns the stream and the byte offset of the bias of output o.
func (k *Kernel) LocateBias(o int) (engine, offset int, ok bool) {
	if !k.Bias {
		return 0, 0, false
	}
	return k.locateRow(o, 0)
}

func (k *Kernel) locateRow(o, row int) (engine, offset int, ok bool) {
	if k.ZeroSkip || o < 0 || o >= k.Groups*k.Outputs {
		return 0, 0, false
	}
	group, o := o/k.Outputs, o%k.Outputs
	p, lane := o/k.Lanes, o%k.Lanes
	engine = p % k.Engines
	offset = k.tableBytes() + group*k.blockBytes(engine) + k.Format.bytes()*((p/k.Engines*k.rows()+row)*k.Lanes+lane)
	return engine, offset, true
}

// Pack returns the streams of the engines. They differ in size if the engines
// have different numbers of outputs, or leave out zeros.
func (k *Kernel) Pack(w *Weights) ([][]byte, error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	if err := k.checkWeights(w); err != nil {
		return nil, err
	}
	streams := make([][]byte, k.Engines)
	for e := range streams {
		if k.laneGroupsOf(e) == 0 {
			continue
		}
		s := append([]byte(nil), w.Table...)
		for g := range k.Groups {
			for p := e; p < k.laneGroups(); p += k.Engines {
				if !k.ZeroSkip {
					s = k.appendDense(s, w, g, p)
					continue
				}
				var err error
				if s, err = k.appendZeroSkip(s, w, g, p); err != nil {
					return nil, err
				}
			}
			if k.Groups > 1 {
				s = pad(s)
			}
		}
		streams[e] = pad(s)
	}
	return streams, nil
}

func (k *Kernel) checkWeights(w *Weights) error {
	bias, table := 0, k.tableBytes()
	if k.Bias {
		bias = k.Groups * k.Outputs
	}
	if len(w.Values) != k.Values() || len(w.Bias) != bias || len(w.Table) != table {
		return fmt.Errorf("td: kernel: want %d weights, %d biases and %d bytes of table, got %d, %d and %d",
			k.Values(), bias, table, len(w.Values), len(w.Bias), len(w.Table))
	}
	return nil
}

// pad fills a stream up to a multiple of streamAlign.
func pad(s []byte) []byte {
	return append(s, make([]byte, alignUp(len(s), streamAlign)-len(s))...)
}

// appendDense appends lane group p of group g: rows of Lanes weights.
func (k *Kernel) appendDense(s []byte, w *Weights, g, p int) []byte {
	if k.Bias {
		s = k.appendBias(s, w, g, p)
	}
	for r := range k.taps() {
		for lane := range k.Lanes {
			v := k.weight(w, g, p*k.Lanes+lane, r)
			if k.Format == KernelInt8 {
				s = append(s, byte(v))
			} else {
				s = binary.LittleEndian.AppendUint16(s, v)
			}
		}
	}
	return s
}

func (k *Kernel) appendBias(s []byte, w *Weights, g, p int) []byte {
	for lane := range k.Lanes {
		var v uint16
		if o := p*k.Lanes + lane; o < k.Outputs {
			v = w.Bias[g*k.Outputs+o]
		}
		s = binary.LittleEndian.AppendUint16(s, v)
	}
	return s
}

// weight returns weight r of output o of group g; lanes without output have 0.
func (k *Kernel) weight(w *Weights, g, o, r int) uint16 {
	if o >= k.Outputs {
		return 0
	}
	return w.Values[(g*k.Outputs+o)*k.taps()+r]
}

// Unpack reads the weights back from the streams of the engines.
func (k *Kernel) Unpack(streams [][]byte) (*Weights, error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	if len(streams) != k.Engines {
		return nil, fmt.Errorf("td: kernel: want %d streams, got %d", k.Engines, len(streams))
	}
	for e, s := range streams {
		// The weights are allocated from what the streams hold, so that a false
		// register cannot ask for more.
		want := k.StreamBytes(e)
		if k.ZeroSkip {
			want = k.leastZeroSkip(e)
		}
		if len(s) < want {
			return nil, formatError(len(s), "kernel stream %d: want %d bytes, got %d", e, want, len(s))
		}
		if k.Table && want > 0 && !bytes.Equal(s[:TableBytes], streams[0][:TableBytes]) {
			return nil, formatError(0, "kernel stream %d has another activation table than stream 0", e)
		}
	}
	w := &Weights{Values: make([]uint16, k.Values())}
	if k.Bias {
		w.Bias = make([]uint16, k.Groups*k.Outputs)
	}
	if k.Table {
		w.Table = append([]byte(nil), streams[0][:TableBytes]...)
	}
	for e, s := range streams {
		at := k.tableBytes()
		for g := range k.Groups {
			for p := e; p < k.laneGroups(); p += k.Engines {
				if k.ZeroSkip {
					var err error
					if at, err = k.readZeroSkip(s, at, w, g, p); err != nil {
						return nil, fmt.Errorf("kernel stream %d: %w", e, err)
					}
				} else {
					at = k.readDense(s, at, w, g, p)
				}
			}
			if k.Groups > 1 {
				at = alignUp(at, streamAlign)
			}
		}
	}
	return w, nil
}

func (k *Kernel) readDense(s []byte, at int, w *Weights, g, p int) int {
	if k.Bias {
		at = k.readBias(s, at, w, g, p)
	}
	for r := range k.taps() {
		for lane := range k.Lanes {
			if o := p*k.Lanes + lane; o < k.Outputs {
				v := uint16(s[at])
				if k.Format != KernelInt8 {
					v = binary.LittleEndian.Uint16(s[at:])
				}
				w.Values[(g*k.Outputs+o)*k.taps()+r] = v
			}
			at += k.Format.bytes()
		}
	}
	return at
}

func (k *Kernel) readBias(s []byte, at int, w *Weights, g, p int) int {
	for lane := range k.Lanes {
		if o := p*k.Lanes + lane; o < k.Outputs {
			w.Bias[g*k.Outputs+o] = binary.LittleEndian.Uint16(s[at:])
		}
		at += 2
	}
	return at
}

// A Section is the data of kernel streams, one after the other, and where each
// begins.
type Section struct {
	Data    []byte
	Offsets []int
	Sizes   []int
}

// Append adds streams to the section.
func (s *Section) Append(streams ...[]byte) {
	for _, stream := range streams {
		s.Data = pad(s.Data)
		s.Offsets = append(s.Offsets, len(s.Data))
		s.Sizes = append(s.Sizes, len(stream))
		s.Data = append(s.Data, stream...)
	}
}

// KernelStreams returns the streams of the engines at work, as the registers
// place them in a section. They share its memory. An engine that has no outputs
// may have none.
func KernelStreams(r *Registers, section []byte) ([][]byte, error) {
	engines := 1 << r.Value(V7EnginesLog2)
	if engines > KernelChannels {
		return nil, fmt.Errorf("td: %s: %d engines, there are %d kernel channels", V7EnginesLog2, engines, KernelChannels)
	}
	streams := make([][]byte, engines)
	for e := range streams {
		c := &V7KernelChannel[e]
		if r.Value(c.Config.Enable) == 0 {
			continue
		}
		offset, size := int64(r.Value(c.Offset)), int64(r.Value(c.Size))
		if offset > int64(len(section)) || size > int64(len(section))-offset {
			return nil, fmt.Errorf("td: %s: bytes %#x..%#x are not in the section of %#x bytes", c.Offset, offset, offset+size, len(section))
		}
		streams[e] = section[offset : offset+size : offset+size]
	}
	return streams, nil
}
