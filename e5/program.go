package e5

import (
	"fmt"
	"strconv"
)

// FormatVersion is the root's version, the only one observed.
const FormatVersion = 4

// A Program is a dispatch descriptor.
type Program struct {
	BuildInfo []KeyValue // in order
	Functions []*Function
	Aliases   []AliasSymbol

	// Symbols are the root's symbol names as they were read. Encode keeps them at
	// their places and adds the names that are missing, so there is no need to
	// set them.
	Symbols []string

	// Extra are the sections that nothing refers to. They are kept.
	Extra []Section

	// Unknown are the places of fields that the schema does not have. Encode
	// refuses a program that has any, since it would lose them.
	Unknown []string
}

// KeyValue is an entry of the build info. Apple's has built-for-profiling,
// input-file-path, espressoc-component-ANECompiler, espressoc-component-MIL,
// espressoc-version and on-device-compilation.
type KeyValue struct{ Key, Value string }

// A Section is a named part of the descriptor.
type Section struct {
	Name string
	Kind SectionKind
	Data []byte
}

// An AliasSymbol is a further name for a symbol, or for what lies at a distance
// from it.
type AliasSymbol struct {
	Name   string
	Symbol string
	Offset uint32 // in bytes
}

// A Function is what a runtime can call.
type Function struct {
	Name            string
	AneHashPath     string // of Apple's cache: "main/main_ane/model.anehash"
	Inputs, Outputs []IOPort
	Blocks          []*Block
}

// An IOPort is where the runtime binds a buffer.
type IOPort struct {
	Name     string
	ByteSize uint64
	Aperture uint64 // the engine's virtual address

	// Tensor is how a value lies there; Opaque if it has no layout. It is ours.
	Tensor TensorDescriptor
}

// A Block is a run of operations.
type Block struct {
	Name       string
	Operations []*Operation
}

// An Operation is one dispatch.
type Operation struct {
	Name            string // Op1_AneInference
	Inputs, Outputs []Operand
	Attrs           Attrs // says of which kind it is
}

// Kind returns what the operation does.
func (op *Operation) Kind() OpKind { return op.Attrs.Kind() }

// An Operand is a tensor that an operation reads or writes.
type Operand struct {
	Symbol string // its name
	Tensor TensorDescriptor
}

// TensorDescriptor is the layout of a tensor, listing 23.2. Lengths are in
// elements, strides in bytes; both lists are outermost axis first here, which
// the listing does not say.
type TensorDescriptor struct {
	Dim, Stride []uint64 // four in the listing

	Width, Height, Channels, BatchNumber, SequenceLength                               uint64
	StrideWidth, StrideHeight, StrideChannels, StrideBatchNumber, StrideSequenceLength uint64

	StorageType   ElementType
	ComponentPack int32 // C.7 only: elements that are stored together
}

// NCHW describes a tensor of four axes: batch, channels, height, width.
func NCHW(e ElementType, dim, stride [4]uint64) TensorDescriptor {
	return TensorDescriptor{
		Dim: dim[:], Stride: stride[:],
		BatchNumber: dim[0], Channels: dim[1], Height: dim[2], Width: dim[3], SequenceLength: 1,
		StrideBatchNumber: stride[0], StrideChannels: stride[1], StrideHeight: stride[2], StrideWidth: stride[3],
		StorageType: e, ComponentPack: 1,
	}
}

// Attrs are the parameters of an operation: CastAttrs, AneInferenceAttrs,
// CpuInferenceAttrs or RawAttrs.
type Attrs interface {
	Kind() OpKind
}

// CastAttrs are those of a Cast, by C.7.
type CastAttrs struct {
	Source, Destination ElementType
	ComponentPack       int32
}

// AneInferenceAttrs are those of an AneInference, by C.7.
type AneInferenceAttrs struct {
	ProcedureName      string // in the container: "main_ane"
	AneHash            string
	ProgramSymbol      string // which container
	IntermediateBuffer uint32 // handle
	CompilerOptions    string
}

// CpuInferenceAttrs are those of a CpuInference. They are ours.
type CpuInferenceAttrs struct {
	Function string // of the host program
}

// RawAttrs are those of the other kinds, of which nothing is known.
type RawAttrs struct {
	Op   OpKind
	Data []byte
}

// Kind returns Cast.
func (CastAttrs) Kind() OpKind { return Cast }

// Kind returns AneInference.
func (AneInferenceAttrs) Kind() OpKind { return AneInference }

// Kind returns CpuInference.
func (CpuInferenceAttrs) Kind() OpKind { return CpuInference }

// Kind returns the kind that they are for.
func (a RawAttrs) Kind() OpKind { return a.Op }

// raw reports whether attributes of the kind are RawAttrs.
func (k OpKind) raw() bool { return k != Cast && k != AneInference && k != CpuInference }

// Function returns the function with the name, nil if there is none.
func (p *Program) Function(name string) *Function {
	for _, f := range p.Functions {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// NewFunction makes a function with one empty block.
func NewFunction(name string) *Function {
	return &Function{Name: name, Blocks: []*Block{{Name: name + "__block_0"}}}
}

// Operations returns the operations of all blocks, in order.
func (f *Function) Operations() []*Operation {
	var all []*Operation
	for _, b := range f.Blocks {
		all = append(all, b.Operations...)
	}
	return all
}

// Add appends an operation to the last block, under its canonical name: the
// first Cast is Op0_Cast, an AneInference after it Op1_AneInference.
func (f *Function) Add(inputs, outputs []Operand, attrs Attrs) *Operation {
	n := 0
	for _, b := range f.Blocks {
		n += len(b.Operations)
	}
	op := &Operation{Name: OperationName(n, attrs.Kind()), Inputs: inputs, Outputs: outputs, Attrs: attrs}
	last := f.Blocks[len(f.Blocks)-1]
	last.Operations = append(last.Operations, op)
	return op
}

// OperationName returns the canonical name of a function's i-th operation.
func OperationName(i int, kind OpKind) string {
	return fmt.Sprintf("Op%d_%v", i, kind)
}

// The names of sections. Those of an operation begin with its symbol; seed 23
// and real files agree on them. __text__ and the two of the ports are names of
// sections in real files, where what they hold may be different.
const (
	textSection  = "__text__"
	aliasSection = "__alias__"
)

func externIn(function string) string  { return "__extern_in_" + function + "__" }
func externOut(function string) string { return "__extern_out_" + function + "__" }

// symbol is the name of an operation in the list of symbols.
func symbol(function, operation string) string { return function + "__" + operation }

func argFrame(function, operation string) string { return symbol(function, operation) + "__arg_frame" }
func opAttrs(function, operation string) string  { return symbol(function, operation) + "__op_attrs" }

// index makes the path of an element of a list.
func index(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
