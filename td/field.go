package td

import (
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// A Layout is the table of one version: its blocks in the order in which tasks
// write them, the header first, and how tasks lie in words. All that reads or
// writes tasks of any version asks it, so that a new version is a new table.
type Layout struct {
	Version Version
	Blocks  []*Block

	Codec   Codec
	Links   Links            // in streams; without fields, the version has none
	Kernels *KernelRegisters // nil: tasks load no kernel streams
	Extends bool             // records reach the registers of version 256: see ExtensionBase

	names map[string]*Field
	spans []blockSpan // of the register blocks
	words int         // sum of the register blocks
}

// A Block is a run of registers, or the header.
type Block struct {
	Name   string
	Header bool
	Addr   uint32 // byte address of its first register, 0 for a header
	Words  int
	Source string
	Fields []*Field // by address and lowest bit

	layout *Layout
}

// A Field is a named run of bits in a register or header word.
type Field struct {
	Name       string // block, dot, field
	Block      *Block
	Addr       uint32 // byte address of the register; in a header, byte offset of the word
	Lo, Width  uint8  // lowest bit, number of bits
	Kind       Kind
	Confidence Confidence
	Source     string
	Doc        string
}

// Kind is how the bits of a field are read.
type Kind uint8

// The kinds of field.
const (
	Uint   Kind = iota
	Int         // two's complement
	Flag        // one bit
	FP16        // the bits of an fp16 number
	FP32        // the bits of an fp32 number
	Bytes       // bytes, in place: the bits below the field are zero bits of the value
	SBytes      // the same, two's complement
)

var kindNames = [...]string{"uint", "int", "flag", "fp16", "fp32", "bytes", "signed bytes"}

func (k Kind) String() string { return kindNames[k] }

// Confidence says how sure a row of a layout is.
type Confidence uint8

// The degrees of confidence, after the tags of the fact sheet.
const (
	Unknown    Confidence = iota // seen, but its function is not known
	Unverified                   // stated by a document; no file shows it
	Named                        // the name is Apple's printer's, the function is not known or none
	Likely                       // agrees with everything seen, by elimination or analogy
	Certain                      // read from real programs, or needed for them to compute right
	Ours                         // we define it
)

var confidenceNames = [...]string{"unknown", "unverified", "named", "likely", "certain", "ours"}

func (c Confidence) String() string { return confidenceNames[c] }

func (f *Field) String() string {
	if f.Block.Header {
		return fmt.Sprintf("%s (header word %d bits %d:%d)", f.Name, f.word(), f.Lo+f.Width-1, f.Lo)
	}
	return fmt.Sprintf("%s (register %#x bits %d:%d)", f.Name, f.Addr, f.Lo+f.Width-1, f.Lo)
}

// word is the index of a header field's word.
func (f *Field) word() int { return int(f.Addr / 4) }

// Mask has the bits of the field set.
func (f *Field) Mask() uint32 { return uint32(uint64(1)<<f.Width-1) << f.Lo }

// Of reads the field from its word. An Int or SBytes is sign-extended to 32
// bits.
func (f *Field) Of(word uint32) uint32 {
	switch f.Kind {
	case Bytes:
		return word & f.Mask()
	case SBytes:
		return uint32(int32(word&f.Mask()<<f.above()) >> f.above())
	case Int:
		return uint32(int32(word<<f.above()) >> (32 - f.Width))
	default:
		return word & f.Mask() >> f.Lo
	}
}

// above is the number of bits above the field.
func (f *Field) above() uint8 { return 32 - f.Lo - f.Width }

// Put returns the word with the field set. It is an error if the value does not
// fit.
func (f *Field) Put(word, value uint32) (uint32, error) {
	bits := value
	if f.Kind != Bytes && f.Kind != SBytes {
		bits <<= f.Lo
	}
	w := word&^f.Mask() | bits&f.Mask()
	if f.Of(w) != value {
		return 0, fmt.Errorf("td: %s: %#x does not fit %d bits (%v)", f, value, f.Width, f.Kind)
	}
	return w, nil
}

// Float returns the number that the value of an FP16 or FP32 field stands for.
func (f *Field) Float(value uint32) float32 {
	if f.Kind == FP16 {
		return tensor.F16(uint16(value))
	}
	return math.Float32frombits(value)
}

// Field finds a field by its name, block, dot, field; nil if there is none.
func (l *Layout) Field(name string) *Field { return l.names[name] }

// Block finds the block that holds a register; nil if none does.
func (l *Layout) Block(addr uint32) *Block {
	for _, b := range l.Blocks {
		if !b.Header && addr >= b.Addr && addr-b.Addr < 4*uint32(b.Words) {
			return b
		}
	}
	return nil
}

// FieldsAt returns the fields of a register, lowest bit first.
func (l *Layout) FieldsAt(addr uint32) []*Field {
	b := l.Block(addr)
	if b == nil {
		return nil
	}
	return b.FieldsAt(addr)
}

// FieldsAt returns the fields of the block in the word with the address, lowest
// bit first.
func (b *Block) FieldsAt(addr uint32) []*Field {
	compare := func(f *Field, addr uint32) int { return int(int64(f.Addr) - int64(addr)) }
	i, _ := slices.BinarySearchFunc(b.Fields, addr, compare)
	j := i
	for j < len(b.Fields) && b.Fields[j].Addr == addr {
		j++
	}
	return b.Fields[i:j]
}

// Unnamed returns the bits of a word that no field names.
func (b *Block) Unnamed(addr, word uint32) uint32 {
	for _, f := range b.FieldsAt(addr) {
		word &^= f.Mask()
	}
	return word
}

// Tables are package variables, one row per field, so that code names
// a field as td.V7Win and the compiler checks it. As with package flag, a row
// enters its table when the variable is made.

func newLayout(v Version) *Layout {
	return &Layout{Version: v, names: make(map[string]*Field)}
}

// NewLayout begins a table outside of this package.
func NewLayout(v Version) *Layout { return newLayout(v) }

// AddHeader enters the header.
func (l *Layout) AddHeader(words int, source string) *Block { return l.header(words, source) }

// AddBlock enters a block.
func (l *Layout) AddBlock(name string, addr uint32, words int, source string) *Block {
	return l.block(name, addr, words, source)
}

// AddField enters a field with the bits hi to lo.
func (b *Block) AddField(name string, addr uint32, hi, lo uint8, kind Kind, c Confidence, doc string) *Field {
	return b.row(name, addr, hi, lo, kind, c, doc)
}

func (l *Layout) header(words int, source string) *Block {
	b := &Block{Name: "Header", Header: true, Words: words, Source: source, layout: l}
	l.Blocks = append([]*Block{b}, l.Blocks...) // first, whatever the order in which the rows are made
	return b
}

func (l *Layout) block(name string, addr uint32, words int, source string) *Block {
	b := &Block{Name: name, Addr: addr, Words: words, Source: source, layout: l}
	l.Blocks = append(l.Blocks, b)
	l.spans = append(l.spans, blockSpan{addr: addr, words: uint32(words), at: uint32(l.words)})
	l.words += words
	return b
}

// row enters a field with the bits hi to lo, as data sheets write them.
func (b *Block) row(name string, addr uint32, hi, lo uint8, kind Kind, c Confidence, doc string) *Field {
	f := &Field{
		Name: b.Name + "." + name, Block: b, Addr: addr, Lo: lo, Width: hi - lo + 1,
		Kind: kind, Confidence: c, Source: b.Source, Doc: doc,
	}
	if b.layout.names[f.Name] != nil || hi < lo || hi > 31 || addr%4 != 0 || addr < b.Addr || addr-b.Addr >= 4*uint32(b.Words) {
		panic("bug: bad row " + f.Name)
	}
	b.layout.names[f.Name] = f
	i, _ := slices.BinarySearchFunc(b.Fields, f, func(x, y *Field) int {
		return int((int64(x.Addr)*32 + int64(x.Lo)) - (int64(y.Addr)*32 + int64(y.Lo)))
	})
	b.Fields = slices.Insert(b.Fields, i, f)
	return f
}

// flag enters a field of one bit.
func (b *Block) flag(name string, addr uint32, bit uint8, c Confidence, doc string) *Field {
	return b.row(name, addr, bit, bit, Flag, c, doc)
}

// from replaces the source that a row takes from its block.
func (f *Field) from(source string) *Field {
	f.Source = source
	return f
}
