package e5

import (
	"fmt"
	"slices"
	"unicode/utf8"

	flatbuffers "github.com/google/flatbuffers/go"
)

// maxSize bounds what Encode writes. The library panics at 2 GiB, and a
// descriptor has kilobytes.
const maxSize = 1 << 28

// Encode writes the descriptor. The same program always gives the same bytes.
func (p *Program) Encode() ([]byte, error) {
	if len(p.Unknown) > 0 {
		return nil, fmt.Errorf("the descriptor has fields that would be lost: %s", p.Unknown[0])
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	e := &encoder{symbols: append([]string(nil), p.Symbols...), numbers: map[string]uint32{}}
	for i, name := range e.symbols {
		if _, ok := e.numbers[name]; !ok {
			e.numbers[name] = uint32(i)
		}
	}
	e.program(p)
	w := newWriter(1024)
	return w.finish(w.root(e, p)), nil
}

// check finds what cannot be written or would be read differently.
func (p *Program) check() error {
	size := 0
	texts := func(all ...string) error {
		for _, s := range all {
			if size += len(s) + 64; !utf8.ValidString(s) {
				return fmt.Errorf("%q is not UTF-8", s)
			}
		}
		return nil
	}
	sections := map[string]bool{textSection: true, aliasSection: true}
	claim := func(name string) error {
		if sections[name] {
			return fmt.Errorf("two sections would be called %q", name)
		}
		sections[name] = true
		return nil
	}
	if err := texts(p.Symbols...); err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	for _, kv := range p.BuildInfo {
		if err := texts(kv.Key, kv.Value); err != nil {
			return fmt.Errorf("build info: %w", err)
		}
	}
	for _, a := range p.Aliases {
		if err := texts(a.Name, a.Symbol); err != nil {
			return fmt.Errorf("alias: %w", err)
		}
	}
	functions := map[string]bool{}
	for _, f := range p.Functions {
		if functions[f.Name] {
			return fmt.Errorf("there are two functions %q", f.Name)
		}
		functions[f.Name] = true
		err := texts(f.Name, f.AneHashPath)
		for _, port := range slices.Concat(f.Inputs, f.Outputs) {
			err = first(err, texts(port.Name), port.Tensor.check())
			size += 256 + 8*len(port.Tensor.Dim) + 8*len(port.Tensor.Stride)
		}
		err = first(err, claim(externIn(f.Name)), claim(externOut(f.Name)))
		for _, b := range f.Blocks {
			err = first(err, texts(b.Name))
			for _, op := range b.Operations {
				err = first(err, texts(op.Name), claim(argFrame(f.Name, op.Name)), claim(opAttrs(f.Name, op.Name)))
				n, wrong := op.check(texts)
				size += n
				if wrong != nil {
					wrong = fmt.Errorf("%s: %w", op.Name, wrong)
				}
				err = first(err, wrong)
			}
		}
		if err != nil {
			return fmt.Errorf("function %s: %w", f.Name, err)
		}
	}
	for _, s := range p.Extra {
		if err := first(texts(s.Name), claim(s.Name)); err != nil {
			return err
		}
		size += len(s.Data)
	}
	if size > maxSize {
		return fmt.Errorf("the descriptor would have more than %d bytes", maxSize)
	}
	return nil
}

// first returns the first of the errors that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// check finds what is wrong with an operation. It returns about how many bytes
// it takes, beside its texts.
func (op *Operation) check(texts func(...string) error) (size int, err error) {
	if op.Attrs == nil {
		return 0, fmt.Errorf("it has no attributes")
	}
	if !op.Kind().valid() {
		return 0, fmt.Errorf("%v; there are %d", op.Kind(), NumOpKinds)
	}
	size = 256
	for _, operands := range [][]Operand{op.Inputs, op.Outputs} {
		for _, o := range operands {
			if err := texts(o.Symbol); err != nil {
				return 0, err
			}
			if err := o.Tensor.check(); err != nil {
				return 0, fmt.Errorf("operand %s: %w", o.Symbol, err)
			}
			size += 256 + 8*len(o.Tensor.Dim) + 8*len(o.Tensor.Stride)
		}
	}
	switch a := op.Attrs.(type) {
	case CastAttrs:
		if !a.Source.valid() || !a.Destination.valid() {
			return 0, fmt.Errorf("a cast from %v to %v; there are %d", a.Source, a.Destination, NumElementTypes)
		}
	case AneInferenceAttrs:
		err = texts(a.ProcedureName, a.AneHash, a.ProgramSymbol, a.CompilerOptions)
	case CpuInferenceAttrs:
		err = texts(a.Function)
	case RawAttrs:
		if !a.Op.raw() {
			err = fmt.Errorf("the attributes of %v are not raw", a.Op)
		}
		size += len(a.Data)
	default:
		err = fmt.Errorf("attributes of type %T", a)
	}
	return size, err
}

// check finds what cannot be written of a layout.
func (t *TensorDescriptor) check() error {
	if !t.StorageType.valid() {
		return fmt.Errorf("%v; there are %d", t.StorageType, NumElementTypes)
	}
	return nil
}

// An encoder collects the symbols and sections of a program. The symbols are
// numbered as they come: functions with their blocks and operations, sections,
// tensors.
type encoder struct {
	symbols  []string
	numbers  map[string]uint32
	sections []Section
}

// number returns the number of a symbol, which it gets if it has none.
func (e *encoder) number(name string) uint32 {
	n, ok := e.numbers[name]
	if !ok {
		n = uint32(len(e.symbols))
		e.symbols, e.numbers[name] = append(e.symbols, name), n
	}
	return n
}

func (e *encoder) program(p *Program) {
	for _, f := range p.Functions {
		e.number(f.Name)
		for _, b := range f.Blocks {
			e.number(b.Name)
			for _, op := range b.Operations {
				e.number(symbol(f.Name, op.Name))
				e.number(argFrame(f.Name, op.Name))
				e.number(opAttrs(f.Name, op.Name))
			}
		}
	}
	e.section(textSection, Text, func(w *writer) flatbuffers.UOffsetT { return w.text(e, p.Functions) })
	for _, f := range p.Functions {
		e.section(externIn(f.Name), ExternIn, func(w *writer) flatbuffers.UOffsetT { return w.ports(f.Inputs) })
		e.section(externOut(f.Name), ExternOut, func(w *writer) flatbuffers.UOffsetT { return w.ports(f.Outputs) })
		for _, op := range f.Operations() {
			e.section(argFrame(f.Name, op.Name), ArgFrame, func(w *writer) flatbuffers.UOffsetT {
				return w.table(ref(w.operands(op.Inputs)), ref(w.operands(op.Outputs)))
			})
			e.section(opAttrs(f.Name, op.Name), OpAttrs, func(w *writer) flatbuffers.UOffsetT {
				attrs := w.attrs(op.Attrs)
				return w.table(u8(uint8(op.Kind())+1), ref(attrs))
			})
		}
	}
	if len(p.Aliases) > 0 {
		e.section(aliasSection, Aliases, func(w *writer) flatbuffers.UOffsetT { return w.aliases(e, p.Aliases) })
	}
	e.sections = append(e.sections, p.Extra...)
}

// section adds a section that holds a nested FlatBuffer.
func (e *encoder) section(name string, kind SectionKind, root func(*writer) flatbuffers.UOffsetT) {
	w := newWriter(256)
	e.sections = append(e.sections, Section{name, kind, w.finish(root(w))})
}

// A writer builds one FlatBuffer. The library builds from the end, so what a
// table refers to is written first.
type writer struct{ *flatbuffers.Builder }

func newWriter(size int) *writer { return &writer{flatbuffers.NewBuilder(size)} }

func (w *writer) finish(root flatbuffers.UOffsetT) []byte {
	w.Finish(root)
	return w.FinishedBytes()
}

// A slot is the value of a field. Fields are written even where they have their
// default, so that the size of a descriptor does not depend on what it says.
type slot struct {
	size  int // in bytes
	value uint64
	ref   bool
}

func u8(v uint8) slot                  { return slot{1, uint64(v), false} }
func u32(v uint32) slot                { return slot{4, uint64(v), false} }
func u64(v uint64) slot                { return slot{8, v, false} }
func ref(to flatbuffers.UOffsetT) slot { return slot{4, uint64(to), true} }

// table writes a table: the smallest fields first, those of one size by slot.
func (w *writer) table(slots ...slot) flatbuffers.UOffsetT {
	w.StartObject(len(slots))
	for _, size := range []int{8, 4, 1} {
		for i := len(slots) - 1; i >= 0; i-- {
			s := slots[i]
			switch {
			case s.size != size:
				continue
			case s.ref:
				w.PrependUOffsetT(flatbuffers.UOffsetT(s.value))
			case size == 8:
				w.PrependUint64(s.value)
			case size == 4:
				w.PrependUint32(uint32(s.value))
			default:
				w.PrependUint8(uint8(s.value))
			}
			w.Slot(i)
		}
	}
	return w.EndObject()
}

// root writes the file's root, with the vtable before it and the reference to it
// at byte 0, without a gap.
func (w *writer) root(e *encoder, p *Program) flatbuffers.UOffsetT {
	sections := each(w, e.sections, func(s Section) flatbuffers.UOffsetT {
		name, data := w.CreateString(s.Name), w.bytes(s.Data)
		return w.table(ref(name), u32(uint32(s.Kind)), ref(data))
	})
	entries := each(w, p.BuildInfo, func(kv KeyValue) flatbuffers.UOffsetT {
		key, value := w.CreateString(kv.Key), w.CreateString(kv.Value)
		return w.table(ref(key), ref(value))
	})
	info := w.table(ref(entries))
	names := each(w, e.symbols, w.CreateString)
	// The file's size is a multiple of 8, since sections are aligned to that.
	// Padding goes here, or the library would put it between the first four
	// bytes and the vtable.
	const reference, vtable, table = 4, 12, 20
	w.Prep(8, reference+vtable+table)
	return w.table(ref(names), ref(info), ref(sections), u32(FormatVersion))
}

// each writes a list of what f writes.
func each[T any](w *writer, all []T, f func(T) flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	offsets := make([]flatbuffers.UOffsetT, len(all))
	for i, v := range all {
		offsets[i] = f(v)
	}
	return w.CreateVectorOfTables(offsets)
}

// bytes writes a list of bytes that begins at a multiple of 8, as a nested
// FlatBuffer needs.
func (w *writer) bytes(data []byte) flatbuffers.UOffsetT {
	w.StartVector(1, len(data), 8)
	for i := len(data) - 1; i >= 0; i-- {
		w.PlaceByte(data[i])
	}
	return w.EndVector(len(data))
}

func (w *writer) uint32s(values []uint32) flatbuffers.UOffsetT {
	w.StartVector(4, len(values), 4)
	for i := len(values) - 1; i >= 0; i-- {
		w.PlaceUint32(values[i])
	}
	return w.EndVector(len(values))
}

func (w *writer) uint64s(values []uint64) flatbuffers.UOffsetT {
	w.StartVector(8, len(values), 8)
	for i := len(values) - 1; i >= 0; i-- {
		w.PlaceUint64(values[i])
	}
	return w.EndVector(len(values))
}

func (w *writer) text(e *encoder, functions []*Function) flatbuffers.UOffsetT {
	return w.table(ref(each(w, functions, func(f *Function) flatbuffers.UOffsetT {
		blocks := each(w, f.Blocks, func(b *Block) flatbuffers.UOffsetT {
			operations := each(w, b.Operations, func(op *Operation) flatbuffers.UOffsetT {
				name := w.CreateString(op.Name)
				inputs := w.uint32s(e.operandNumbers(op.Inputs))
				outputs := w.uint32s(e.operandNumbers(op.Outputs))
				frame := w.CreateString(argFrame(f.Name, op.Name))
				attrs := w.CreateString(opAttrs(f.Name, op.Name))
				return w.table(ref(name), u32(uint32(op.Kind())), ref(inputs), ref(outputs), ref(frame), ref(attrs))
			})
			name := w.CreateString(b.Name)
			return w.table(ref(name), ref(operations))
		})
		name, path := w.CreateString(f.Name), w.CreateString(f.AneHashPath)
		return w.table(ref(name), ref(path), ref(blocks))
	})))
}

func (e *encoder) operandNumbers(operands []Operand) []uint32 {
	numbers := make([]uint32, len(operands))
	for i, o := range operands {
		numbers[i] = e.number(o.Symbol)
	}
	return numbers
}

func (w *writer) ports(ports []IOPort) flatbuffers.UOffsetT {
	return w.table(ref(each(w, ports, func(p IOPort) flatbuffers.UOffsetT {
		name, tensor := w.CreateString(p.Name), w.tensor(p.Tensor)
		return w.table(ref(name), u64(p.ByteSize), u64(p.Aperture), ref(tensor))
	})))
}

func (w *writer) aliases(e *encoder, aliases []AliasSymbol) flatbuffers.UOffsetT {
	return w.table(ref(each(w, aliases, func(a AliasSymbol) flatbuffers.UOffsetT {
		name := w.CreateString(a.Name)
		return w.table(ref(name), u32(e.number(a.Symbol)), u32(a.Offset))
	})))
}

func (w *writer) operands(operands []Operand) flatbuffers.UOffsetT {
	return each(w, operands, func(o Operand) flatbuffers.UOffsetT { return w.table(ref(w.tensor(o.Tensor))) })
}

func (w *writer) tensor(t TensorDescriptor) flatbuffers.UOffsetT {
	dim, stride := w.uint64s(t.Dim), w.uint64s(t.Stride)
	return w.table(
		ref(dim), ref(stride),
		u64(t.Width), u64(t.Height), u64(t.Channels), u64(t.BatchNumber), u64(t.SequenceLength),
		u64(t.StrideWidth), u64(t.StrideHeight), u64(t.StrideChannels), u64(t.StrideBatchNumber), u64(t.StrideSequenceLength),
		u32(uint32(t.StorageType)), u32(uint32(t.ComponentPack)),
	)
}

func (w *writer) attrs(attrs Attrs) flatbuffers.UOffsetT {
	switch a := attrs.(type) {
	case CastAttrs:
		return w.table(u32(uint32(a.Source)), u32(uint32(a.Destination)), u32(uint32(a.ComponentPack)))
	case AneInferenceAttrs:
		procedure, hash := w.CreateString(a.ProcedureName), w.CreateString(a.AneHash)
		program, options := w.CreateString(a.ProgramSymbol), w.CreateString(a.CompilerOptions)
		return w.table(ref(procedure), ref(hash), ref(program), u32(a.IntermediateBuffer), ref(options))
	case CpuInferenceAttrs:
		return w.table(ref(w.CreateString(a.Function)))
	case RawAttrs:
		return w.table(ref(w.bytes(a.Data)))
	}
	panic("bug: check let attributes of an unknown type pass")
}
