package td

import "fmt"

// Version 256 is the task descriptor of the target virtual, ours. It has the
// header and the records of version 7 over the registers below; v256.md is the
// map. A task writes every register that its operation has, and registers do
// not outlive a task.
//
// A version-7 task whose records are all of these registers is an extension: it
// carries on H13 what has no known encoding there.

// ExtensionBase is the address of the first register of version 256. No
// register of version 7 is above it.
const ExtensionBase = 0x2000000

const (
	maxOperands = 8
	maxSteps    = 16

	operandWords = 18
	stepWords    = 3

	addrMain     = ExtensionBase
	addrOperands = ExtensionBase + 0x100 // operand i at + 0x80*i
	addrSteps    = ExtensionBase + 0x800 // step k at + 12*k
	addrClasses  = ExtensionBase + 0x1000

	operandPitch = 0x80
	classPitch   = 0x100
)

var (
	v256 = newLayout(V256)

	v256Header = v256.header(headerWords, "ours, after h13 2.2")
	v256Main   = v256.block("Operation", addrMain, 1, "ours")

	V256Class    = v256Main.row("Class", addrMain, 7, 0, Uint, Ours, "operation class")
	V256Present  = v256Main.row("Present", addrMain, 15, 8, Uint, Ours, "bit i: operand i is there")
	V256Results  = v256Main.row("Results", addrMain, 19, 16, Uint, Ours, "operands 0 to Results-1 are written")
	V256Steps    = v256Main.row("Steps", addrMain, 24, 20, Uint, Ours, "micro-operations of the epilogue")
	v256Operands = newOperandRows()
	v256Steps    = newStepRows()
)

// The rows that the header shares with version 7: identity and links.
var (
	_ = v256Header.flag("NotFirst", 4*0, 24, Ours, "as V7NotFirst")
	_ = v256Header.flag("Last", 4*0, 25, Ours, "as V7Last")

	v256Links = Links{
		TaskID:     v256Header.row("TaskID", 4*0, 15, 0, Uint, Ours, "as V7TaskID"),
		NextWords:  v256Header.row("NextWords", 4*1, 24, 16, Uint, Ours, "as V7NextWords"),
		NextOffset: v256Header.row("NextOffset", 4*7, 31, 0, Uint, Ours, "as V7NextOffset"),
	}
)

type operandRows struct {
	base, element, interleave *Field
	offset                    [2]*Field // low word, high word
	dims                      [NumAxes]*Field
	strides                   [NumAxes][2]*Field
}

func newOperandRows() (rows [maxOperands]operandRows) {
	for i := range rows {
		addr := uint32(addrOperands + operandPitch*i)
		b := v256.block(fmt.Sprintf("Operand%d", i), addr, operandWords, "ours")
		r := &rows[i]
		r.base = b.row("Base", addr, 15, 0, Uint, Ours, "index in the base address table")
		r.element = b.row("Element", addr, 23, 16, Uint, Ours, "element type: seed 23.12, ours from 32")
		r.interleave = b.row("Interleave", addr, 31, 24, Uint, Ours, "channels that lie side by side")
		pair := func(name string, word uint32, kind Kind, doc string) [2]*Field {
			return [2]*Field{
				b.row(name+"Low", addr+4*word, 31, 0, Uint, Ours, doc),
				b.row(name+"High", addr+4*word+4, 31, 0, kind, Ours, ""),
			}
		}
		r.offset = pair("Offset", 1, Uint, "bytes from the base")
		for a := range Axis(NumAxes) {
			r.dims[a] = b.row("Dim"+a.String(), addr+4*(3+uint32(a)), 31, 0, Uint, Ours, "extent")
			r.strides[a] = pair("Stride"+a.String(), 8+2*uint32(a), Int, "bytes")
		}
	}
	return rows
}

type stepRows struct {
	code, function, source, swap, a, b *Field
}

func newStepRows() (rows [maxSteps]stepRows) {
	b := v256.block("Epilogue", addrSteps, maxSteps*stepWords, "ours")
	for k := range rows {
		addr := uint32(addrSteps + 4*stepWords*k)
		prefix := fmt.Sprintf("Step%d", k)
		rows[k] = stepRows{
			code:     b.row(prefix+"Code", addr, 6, 0, Uint, Ours, "micro-operation"),
			function: b.row(prefix+"Function", addr, 15, 8, Uint, Ours, "function, elementwise kind or element type"),
			source:   b.row(prefix+"Source", addr, 21, 16, Uint, Ours, "second value: 0 the constant A, 1 to 8 an operand, 16 on an earlier value"),
			swap:     b.flag(prefix+"Swap", addr, 24, Ours, "the second value comes first"),
			a:        b.row(prefix+"A", addr+4, 31, 0, FP32, Ours, ""),
			b:        b.row(prefix+"B", addr+8, 31, 0, FP32, Ours, ""),
		}
	}
	return rows
}

// classBlock makes the block of a class's own registers.
func classBlock(c Class, words int) *Block {
	return v256.block(c.String(), addrClasses+classPitch*uint32(c), words, "ours")
}
