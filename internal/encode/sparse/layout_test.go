package sparse_test

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A made-up version of task descriptors, in test files alone, of the shape that the recorded programs for H14 have: headers of 8
// words, then sparse records with word addresses of 15 bits (oracles 2):
//
//	dense     bits 14:0 the address, 20:15 how many words follow, less one
//	scatter   bit 31 set; bits 30:15 select words address+1 to address+16 beside the first
//
// Words that are 0 are left out, and nothing outlives a task. What is written to which register is ours: a row of the table below
// for each number of an operation.
const sparseVersion td.Version = 0x4e14

const headerWords = 8

// A register holds one number of an operation.
type register struct {
	block *td.Block
	field *td.Field
	get   func(*units.Op) int
	set   func(*units.Op, int)
}

type sparseLayout struct {
	*td.Layout
	registers []register
	part      map[units.Part]*td.Field

	encoded sync.Map // kinds of layers that have tasks of this encoding
}

func (l *sparseLayout) note(k anec.Kind) { l.encoded.Store(k, true) }

// The blocks, by their word addresses, as the records for H14 have them.
var blockAddresses = []struct {
	name string
	addr uint32
}{{"Common", 0x0}, {"OnChip", 0x500}, {"Planar", 0x900}, {"Array", 0xd00}, {"Source", 0x1100}, {"Result", 0x1500}, {"Kernel", 0x1900}}

func newSparseLayout() *sparseLayout {
	l := &sparseLayout{Layout: td.NewLayout(sparseVersion), part: map[units.Part]*td.Field{}}
	header := l.AddHeader(headerWords, "made up")
	row := func(name string, word uint32, hi, lo uint8) *td.Field {
		return header.AddField(name, 4*word, hi, lo, td.Uint, td.Ours, "")
	}
	l.Links = td.Links{TaskID: row("TaskID", 0, 15, 0), NextWords: row("NextWords", 1, 15, 0), NextOffset: row("NextOffset", 2, 31, 0)}
	l.Codec = td.Codec{HeaderWords: headerWords, Decode: decodeSparse, Encode: encodeSparse, Word: sparseWord}
	blocks := map[string]*td.Block{}
	for _, b := range blockAddresses {
		blocks[b.name] = l.AddBlock(b.name, 4*b.addr, 96, "made up")
	}
	next := map[string]uint32{}
	for _, n := range numbers {
		b := blocks[n.block]
		f := b.AddField(n.name, b.Addr+4*next[n.block], 31, 0, td.Uint, td.Ours, "")
		next[n.block]++
		l.registers = append(l.registers, register{b, f, n.get, n.set})
		if n.part != 0 {
			l.part[n.part] = f
		}
	}
	return l
}

// A number is a number of an operation, the block that holds it, and the part that an error about it would name.
type number struct {
	block, name string
	part        units.Part
	get         func(*units.Op) int
	set         func(*units.Op, int)
}

// numbers has all of them.
var numbers = slices.Concat(
	ints("Common", func(o *units.Op) []named {
		return []named{
			{"Kind", &o.Kind, units.PartKind}, {"Win", &o.In.W, units.PartInW}, {"Hin", &o.In.H, units.PartInH}, {"Din", &o.In.D, units.PartInD},
			{"Cin", &o.In.C, units.PartInC}, {"Wout", &o.Out.W, units.PartOutW}, {"Hout", &o.Out.H, units.PartOutH}, {"Dout", &o.Out.D, units.PartOutD},
			{"Cout", &o.Out.C, units.PartOutC}, {"Groups", &o.Groups, units.PartGroups}, {"Unicast", &o.Unicast, units.PartUnicast},
			{"KernelWidth", &o.Window.KW, units.PartKernelW}, {"KernelHeight", &o.Window.KH, units.PartKernelH}, {"StrideX", &o.Window.SX, units.PartStrideX},
			{"StrideY", &o.Window.SY, units.PartStrideY}, {"PadX", &o.Window.PX, units.PartPadX}, {"PadY", &o.Window.PY, units.PartPadY},
		}
	}),
	flags("Common", func(o *units.Op) []flag {
		return []flag{
			{"Planar", &o.Planar}, {"Exchange", &o.Exchange}, {"ReLU1", &o.ReLU1}, {"ReLU2", &o.ReLU2}, {"Lowest", &o.Lowest},
			{"Transpose1", &o.Transpose1}, {"Transpose2", &o.Transpose2}, {"Resides", &o.Resides}, {"WideResult", &o.WideResult}, {"WideSource", &o.WideSource},
		}
	}),
	words("Common", func(o *units.Op) []word { return []word{{"Broadcast1", &o.Broadcast1}, {"Broadcast2", &o.Broadcast2}} }),
	chip("OnChip", "Source1", func(o *units.Op) *units.Chip { return &o.Source1.Chip }),
	flags("OnChip", func(o *units.Op) []flag { return []flag{{"Keep1", &o.Source1.Keep}} }),
	chip("OnChip", "Result", func(o *units.Op) *units.Chip { return &o.Chip }),
	words("Planar", func(o *units.Op) []word {
		return []word{{"Operator", &o.Operator}, {"Reduction", &o.Reduction}, {"Condition", &o.Condition}, {"Final", &o.Final}}
	}),
	flags("Planar", func(o *units.Op) []flag {
		return []flag{{"ReLU", &o.ReLU}, {"Negate1", &o.Negate1}, {"Negate2", &o.Negate2}}
	}),
	halves("Planar", func(o *units.Op) []half {
		return []half{{"PreScale", &o.PreScale}, {"Scale", &o.Scale}, {"Bias", &o.Bias}, {"Epsilon", &o.Epsilon}}
	}),
	[]number{{block: "Planar", name: "FinalScale",
		get: func(o *units.Op) int { return int(math.Float32bits(o.FinalScale)) },
		set: func(o *units.Op, v int) { o.FinalScale = math.Float32frombits(uint32(v)) }}},
	words("Array", func(o *units.Op) []word { return []word{{"Operation", &o.Operation}, {"NonLinear", &o.NonLinear}} }),
	flags("Array", func(o *units.Op) []flag {
		return []flag{{"Unity", &o.Unity}, {"Biased", &o.Biased}, {"Small", &o.Small}}
	}),
	halves("Array", func(o *units.Op) []half { return []half{{"Post", &o.Post}, {"Accumulate", &o.Accumulate}} }),
	ints("Array", func(o *units.Op) []named {
		return []named{{"LanesLog2", &o.LanesLog2, units.PartKernel}, {"Engines", &o.Engines, 0}}
	}),
	[]number{{block: "Array", name: "Format", part: units.PartKernelFormat,
		get: func(o *units.Op) int { return int(o.Format) }, set: func(o *units.Op, v int) { o.Format = td.KernelFormat(v) }}},
	surface("Source", "Source1", units.PartSource1Base, units.PartSource1, func(o *units.Op) **units.Surface { return &o.Source1.Memory }),
	second(),
	surface("Result", "Result", units.PartResultBase, units.PartResult, func(o *units.Op) **units.Surface { return &o.Result }),
	kernel(),
)

type named struct {
	name string
	at   *int
	part units.Part
}
type flag struct {
	name string
	at   *bool
}
type word struct {
	name string
	at   *uint32
}
type half struct {
	name string
	at   *uint16
}

func ints(block string, of func(*units.Op) []named) (list []number) {
	for i, n := range of(&units.Op{}) {
		list = append(list, number{block, n.name, n.part,
			func(o *units.Op) int { return *of(o)[i].at }, func(o *units.Op, v int) { *of(o)[i].at = v }})
	}
	return list
}

func flags(block string, of func(*units.Op) []flag) (list []number) {
	for i, n := range of(&units.Op{}) {
		list = append(list, number{block, n.name, 0,
			func(o *units.Op) int { return bit(*of(o)[i].at) }, func(o *units.Op, v int) { *of(o)[i].at = v != 0 }})
	}
	return list
}

func words(block string, of func(*units.Op) []word) (list []number) {
	for i, n := range of(&units.Op{}) {
		list = append(list, number{block, n.name, 0,
			func(o *units.Op) int { return int(*of(o)[i].at) }, func(o *units.Op, v int) { *of(o)[i].at = uint32(v) }})
	}
	return list
}

func halves(block string, of func(*units.Op) []half) (list []number) {
	for i, n := range of(&units.Op{}) {
		list = append(list, number{block, n.name, 0,
			func(o *units.Op) int { return int(*of(o)[i].at) }, func(o *units.Op, v int) { *of(o)[i].at = uint16(v) }})
	}
	return list
}

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}

// chip is the registers of a tensor on chip.
func chip(block, name string, of func(*units.Op) *units.Chip) []number {
	return ints(block, func(o *units.Op) []named {
		c := of(o)
		return []named{{name + "Base", &c.Base, 0}, {name + "Channel", &c.Channel, 0}, {name + "Row", &c.Row, 0}, {name + "Depth", &c.Depth, 0}, {name + "Group", &c.Group, 0}}
	})
}

// surface is the registers of a tensor in memory; the first says that it is there.
func surface(block, name string, base, part units.Part, of func(*units.Op) **units.Surface) []number {
	there := number{block, name + "Enable", 0,
		func(o *units.Op) int { return bit(*of(o) != nil) },
		func(o *units.Op, v int) {
			if v != 0 {
				*of(o) = &units.Surface{}
			}
		}}
	list := ints(block, func(o *units.Op) []named {
		s := *of(o)
		if s == nil {
			s = &units.Surface{}
		}
		return []named{
			{name + "Base", &s.Base, base}, {name + "Offset", &s.Offset, part}, {name + "Row", &s.Row, 0}, {name + "Plane", &s.Plane, 0},
			{name + "Depth", &s.Depth, 0}, {name + "Group", &s.Group, 0}, {name + "Interleave", &s.Interleave, 0},
		}
	})
	list = append(list, number{block, name + "Element", 0,
		func(o *units.Op) int {
			if s := *of(o); s != nil {
				return int(s.Element)
			}
			return 0
		},
		func(o *units.Op, v int) {
			if s := *of(o); s != nil {
				s.Element = units.Element(v)
			}
		}})
	list = append(list, number{block, name + "Backing", 0,
		func(o *units.Op) int { return bit(*of(o) != nil && (*of(o)).Backing) },
		func(o *units.Op, v int) {
			if s := *of(o); s != nil {
				s.Backing = v != 0
			}
		}})
	return append([]number{there}, list...)
}

// second is the registers of source 2; the first says that there is one.
func second() []number {
	of := func(o *units.Op) *units.Source {
		if o.Source2 == nil {
			return &units.Source{}
		}
		return o.Source2
	}
	there := number{"Source", "Source2", 0,
		func(o *units.Op) int { return bit(o.Source2 != nil) },
		func(o *units.Op, v int) {
			if v != 0 {
				o.Source2 = &units.Source{}
			}
		}}
	return slices.Concat([]number{there},
		surface("Source", "Source2", units.PartSource2Base, units.PartSource2, func(o *units.Op) **units.Surface { return &of(o).Memory }),
		chip("OnChip", "Source2", func(o *units.Op) *units.Chip { return &of(o).Chip }))
}

// kernel is the registers of the kernel streams, which lie one for each engine; the first says how many there are, plus 1.
func kernel() []number {
	const streams = 16
	of := func(o *units.Op) *units.Kernel {
		if o.Kernel == nil {
			return &units.Kernel{Producer: -1, Offsets: make([]int, streams), Sizes: make([]int, streams)}
		}
		return o.Kernel
	}
	list := []number{
		{"Kernel", "Streams", units.PartKernel,
			func(o *units.Op) int {
				if o.Kernel == nil {
					return 0
				}
				return 1 + len(o.Kernel.Offsets)
			},
			func(o *units.Op, v int) {
				if v > 0 {
					n := min(v-1, streams)
					o.Kernel = &units.Kernel{Offsets: make([]int, n), Sizes: make([]int, n)}
				}
			}},
		{"Kernel", "Producer", 0, func(o *units.Op) int { return of(o).Producer + 1 }, func(o *units.Op, v int) { of(o).Producer = v - 1 }},
	}
	list = append(list, ints("Kernel", func(o *units.Op) []named { return []named{{"Base", &of(o).Base, units.PartKernelBase}} })...)
	list = append(list, flags("Kernel", func(o *units.Op) []flag {
		return []flag{{"ZeroSkip", &of(o).ZeroSkip}, {"Runtime", &of(o).Runtime}}
	})...)
	for e := range streams {
		at := func(list []int, v *int) int {
			if e >= len(list) {
				return 0
			}
			if v != nil {
				list[e] = *v
			}
			return list[e]
		}
		list = append(list,
			number{"Kernel", fmt.Sprintf("Offset%d", e), units.PartStream(e),
				func(o *units.Op) int { return at(of(o).Offsets, nil) }, func(o *units.Op, v int) { at(of(o).Offsets, &v) }},
			number{"Kernel", fmt.Sprintf("Size%d", e), units.PartStreamSize(e),
				func(o *units.Op) int { return at(of(o).Sizes, nil) }, func(o *units.Op, v int) { at(of(o).Sizes, &v) }})
	}
	return list
}

// encodeSparse puts a task into words. Registers that follow each other are a dense record, others scatter.
func encodeSparse(t *td.Task) ([]uint32, error) {
	type value struct{ addr, word uint32 }
	var values []value
	for _, r := range t.Records {
		for i, w := range r.Words {
			if w != 0 {
				values = append(values, value{r.Addr/4 + uint32(i), w})
			}
		}
	}
	slices.SortFunc(values, func(a, b value) int { return cmp.Compare(a.addr, b.addr) })
	out := slices.Clone(t.Header)
	for len(values) > 0 {
		base := values[0].addr
		if base > 0x7fff {
			return nil, fmt.Errorf("register %#x: addresses have 15 bits", base)
		}
		run := 1
		for run < len(values) && run < 64 && values[run].addr == base+uint32(run) {
			run++
		}
		h := base | uint32(run-1)<<15
		if run == 1 {
			for run < len(values) && values[run].addr <= base+16 {
				h |= 1<<31 | 1<<(14+values[run].addr-base)
				run++
			}
		}
		out = append(out, h)
		for _, v := range values[:run] {
			out = append(out, v.word)
		}
		values = values[run:]
	}
	return out, nil
}

// decodeSparse reads a task: a record of one word for each register.
func decodeSparse(v td.Version, list []uint32) (*td.Task, error) {
	if len(list) < headerWords {
		return nil, fmt.Errorf("%d words: a header has %d", len(list), headerWords)
	}
	t := &td.Task{Version: v, Header: slices.Clone(list[:headerWords])}
	rest := list[headerWords:]
	for len(rest) > 0 {
		h := rest[0]
		base, addrs := h&0x7fff, []uint32{h & 0x7fff}
		if h>>31 != 0 {
			for k := range uint32(16) {
				if h>>(15+k)&1 != 0 {
					addrs = append(addrs, base+1+k)
				}
			}
		} else {
			for k := range h >> 15 & 0x3f {
				addrs = append(addrs, base+1+k)
			}
		}
		if len(rest) < 1+len(addrs) {
			return nil, fmt.Errorf("a record of %d words has %d", len(addrs), len(rest)-1)
		}
		for k, a := range addrs {
			t.Records = append(t.Records, td.Record{Addr: 4 * a, Words: []uint32{rest[1+k]}})
		}
		rest = rest[1+len(addrs):]
	}
	return t, nil
}

// sparseWord is where the word for a register stands in an encoded task.
func sparseWord(t *td.Task, register uint32) int {
	words, err := encodeSparse(t)
	if err != nil {
		return -1
	}
	for at := headerWords; at < len(words); {
		h := words[at]
		n := 1 + bits.OnesCount32(h>>15&0xffff)
		if h>>31 == 0 {
			n = 1 + int(h>>15&0x3f)
		}
		base := h & 0x7fff
		if h>>31 == 0 && register/4 >= base && register/4 < base+uint32(n) {
			return at + 1 + int(register/4-base)
		}
		if h>>31 != 0 {
			k := 0
			for a := base; a <= base+16; a++ {
				if a != base && h>>(14+a-base)&1 == 0 {
					continue
				}
				if a == register/4 {
					return at + 1 + k
				}
				k++
			}
		}
		at += 1 + n
	}
	return -1
}
