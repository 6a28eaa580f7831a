package mil

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// WriteText writes a program in MIL's text form, in the dialect of its version: program(1.3) and later write a
// scalar as fp16(0x1p+1), earlier ones as tensor<fp16, []>(0x1p+1). Constants in the program are written in
// full and exactly, constants in files as BLOBFILE. ParseText gives the same program back, provided that
// Verify accepts it.
func WriteText(w io.Writer, p *Program) error { return WriteAnnotated(w, p, nil) }

// WriteAnnotated is WriteText with a comment before each operation for which note has a text of one line.
func WriteAnnotated(w io.Writer, p *Program, note func(*Operation) string) error {
	pr := &printer{w: w, note: note}
	pr.program(p)
	pr.flush()
	return pr.err
}

// FormatText returns what WriteText writes.
func FormatText(p *Program) ([]byte, error) {
	var b bytes.Buffer
	if err := WriteText(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// printer gathers text in out and passes it on when there is much of it. After an error it writes nothing.
type printer struct {
	w       io.Writer
	note    func(*Operation) string // nil: none
	out     []byte
	scalars bool // the dialect writes scalar types without tensor<…, []>
	err     error
}

func (p *printer) flush() {
	if p.err == nil {
		_, p.err = p.w.Write(p.out)
	}
	p.out = p.out[:0]
}

func (p *printer) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *printer) print(s string) { p.out = append(p.out, s...) }

// line starts a line.
func (p *printer) line(indent int) {
	if len(p.out) > 1<<16 {
		p.flush()
	}
	p.out = append(p.out, '\n')
	for range indent {
		p.out = append(p.out, ' ')
	}
}

// name writes a name, in quotes if it has characters that bare names have not.
func (p *printer) name(s string) {
	switch {
	case s == "":
		p.fail("the program has an empty name, which no text can hold")
	case isName(s):
		p.print(s)
	default:
		p.out = quote(p.out, s)
	}
}

func (p *printer) program(prog *Program) {
	if !isVersion(prog.Version) {
		p.fail("the version of the program is %q: expected a number such as 1.3", prog.Version)
		return
	}
	p.scalars = writesScalars(prog.Version)
	p.print("program(" + prog.Version + ")")
	if len(prog.Attributes) > 0 {
		p.line(0)
		p.attributes(prog.Attributes)
	}
	p.line(0)
	p.print("{")
	for _, f := range prog.Functions {
		p.function(f)
	}
	p.line(0)
	p.print("}\n")
}

// writesScalars reports whether the dialect of a version has scalar types.
func writesScalars(version string) bool {
	major, minor, _ := strings.Cut(version, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	return a > 1 || b >= 3
}

// The columns at which the compilers of Core ML begin their lines.
const (
	functionIndent  = 4
	bodyIndent      = 8 // of the closing brace
	operationIndent = 12
)

func (p *printer) function(f *Function) {
	p.line(functionIndent)
	p.print("func ")
	p.name(f.Name)
	p.print("<")
	p.name(f.Opset)
	p.print(">")
	p.values(f.Inputs)
	if len(f.Attributes) > 0 {
		p.print(" ")
		p.attributes(f.Attributes)
	}
	p.print(" ")
	if f.Body == nil || len(f.Body.Inputs) > 0 {
		p.fail("function %s has no body, or its body has inputs", f.Name)
		return
	}
	p.body(f.Body, operationIndent, bodyIndent)
	p.print(";")
}

// values writes "(type name, …)".
func (p *printer) values(vals []*Value) {
	p.print("(")
	p.typedNames(vals)
	p.print(")")
}

func (p *printer) typedNames(vals []*Value) {
	for i, v := range vals {
		if i > 0 {
			p.print(", ")
		}
		p.typ(v.Type)
		p.print(" ")
		p.name(v.Name)
	}
}

// body writes a block without its inputs. A block without outputs has no "-> ()".
func (p *printer) body(b *Block, indent, closing int) {
	p.print("{")
	if len(b.Attributes) > 0 {
		p.line(indent)
		p.attributes(b.Attributes)
	}
	for _, op := range b.Operations {
		p.operation(op, indent)
	}
	p.line(closing)
	p.print("}")
	if len(b.Outputs) == 0 {
		return
	}
	p.print(" -> (")
	for i, v := range b.Outputs {
		if i > 0 {
			p.print(", ")
		}
		p.name(v.Name)
	}
	p.print(")")
}

func (p *printer) operation(op *Operation, indent int) {
	if p.note != nil {
		if text := p.note(op); text != "" {
			p.line(indent)
			p.print("// " + strings.ReplaceAll(text, "\n", " "))
		}
	}
	p.line(indent)
	if len(op.Outputs) > 0 {
		p.typedNames(op.Outputs)
		p.print(" = ")
	}
	p.name(op.Kind)
	p.print("(")
	for i := range op.Inputs {
		if i > 0 {
			p.print(", ")
		}
		p.input(op, &op.Inputs[i])
	}
	p.print(")")
	if len(op.Attributes) > 0 {
		p.attributes(op.Attributes)
	}
	for _, b := range op.Blocks {
		p.line(indent + 4)
		p.values(b.Inputs)
		p.print(" ")
		p.body(b, indent+8, indent+4)
	}
	p.print(";")
}

func (p *printer) input(op *Operation, in *Input) {
	p.name(in.Param)
	p.print(" = ")
	several := len(in.Args) != 1
	if several {
		p.print("(")
	}
	for i, a := range in.Args {
		if i > 0 {
			p.print(", ")
		}
		switch {
		case a.Value != nil && a.Const == nil:
			p.name(a.Value.Name)
		case a.Value == nil && a.Const != nil:
			p.constant(a.Const)
		default:
			p.fail("operation %s: parameter %q must be bound to a value or to a constant", op.Name(), in.Param)
		}
	}
	if several {
		p.print(")")
	}
}

func (p *printer) attributes(attrs Attributes) {
	p.print("[")
	for i, a := range attrs {
		if i > 0 {
			p.print(", ")
		}
		p.name(a.Name)
		p.print(" = ")
		p.constant(a.Value)
	}
	p.print("]")
}

func (p *printer) typ(t Type) {
	switch t := t.(type) {
	case *TensorType:
		if !t.AnyRank && len(t.Shape) == 0 && !p.scalars {
			p.print("tensor<" + t.DType.String() + ", []>")
		} else {
			p.print(t.String())
		}
	case *ListType:
		p.print("list<")
		p.typ(t.Elem)
		p.print(", " + t.Length.String() + ">")
	case *TupleType:
		p.print("tuple<")
		for i, e := range t.Elems {
			if i > 0 {
				p.print(", ")
			}
			p.typ(e)
		}
		p.print(">")
	case *DictType:
		p.print("dict<")
		p.typ(t.Key)
		p.print(", ")
		p.typ(t.Value)
		p.print(">")
	case *StateType:
		p.print("state<")
		p.typ(t.Elem)
		p.print(">")
	default:
		p.fail("the program has a value without a type")
	}
}

// constant writes "type(literal)".
func (p *printer) constant(c *Constant) {
	if c == nil {
		p.fail("the program has a constant without a value")
		return
	}
	p.typ(c.Type)
	p.print("(")
	if t, ok := c.Type.(*TupleType); !ok || len(c.Items) > 0 || len(t.Elems) == 0 {
		p.literal(c)
	} // else a tuple that was left out, as in a FlexibleShapeInformation without shapes
	p.print(")")
}

func (p *printer) literal(c *Constant) {
	switch t := c.Type.(type) {
	case *TensorType:
		switch {
		case c.Tensor != nil:
			p.array(c.Tensor, t)
		case c.File != nil:
			p.blob(c.File)
		default:
			p.fail("a constant of type %v has no value", t)
		}
	case *ListType:
		p.items("[", c.Items, "]")
	case *TupleType:
		p.items("(", c.Items, ")")
	case *DictType:
		p.print("{")
		for i, e := range c.Entries {
			if i > 0 {
				p.print(", ")
			}
			p.items("{", []*Constant{e.Key, e.Value}, "}")
		}
		p.print("}")
	default:
		p.fail("a constant cannot have type %v", c.Type)
	}
}

func (p *printer) items(open string, items []*Constant, closing string) {
	p.print(open)
	for i, c := range items {
		if i > 0 {
			p.print(", ")
		}
		if c == nil {
			p.fail("the program has a constant without a value")
			return
		}
		p.literal(c)
	}
	p.print(closing)
}

func (p *printer) blob(f *FileRef) {
	p.print("BLOBFILE(path = ")
	p.constant(ConstOf(f.Path))
	p.print(", offset = ")
	p.constant(ConstOf(f.Offset))
	p.print(")")
}

// array writes the elements in nested brackets.
func (p *printer) array(t *tensor.Tensor, declared *TensorType) {
	e, err := newElements(t)
	if err != nil {
		p.fail("%w", err)
		return
	}
	if t.Len() == 0 && declared.Shape.Known() {
		p.print("[]") // whatever the shape: it may have many empty rows
		return
	}
	p.axis(e, t.Shape())
}

func (p *printer) axis(e *elements, shape []int) {
	if len(shape) == 0 {
		p.out = e.appendNext(p.out)
		return
	}
	p.print("[")
	for i := range shape[0] {
		if i > 0 {
			p.print(", ")
		}
		if len(p.out) > 1<<16 {
			p.flush()
		}
		if p.err != nil {
			return
		}
		p.axis(e, shape[1:])
	}
	p.print("]")
}

// elements walks through an array in row-major order.
type elements struct {
	dtype tensor.DType
	data  []byte
	strs  []string
	next  int
}

func newElements(t *tensor.Tensor) (*elements, error) {
	if t.DType() == tensor.String {
		return &elements{dtype: tensor.String, strs: t.Strings()}, nil
	}
	if t.DType().Bits() == 0 {
		return nil, errors.New("the program has an array without an element type")
	}
	return &elements{dtype: t.DType(), data: t.Bytes()}, nil
}

// appendNext writes the next element.
func (e *elements) appendNext(out []byte) []byte {
	i := e.next
	e.next++
	switch e.dtype.Kind() {
	case tensor.KindString:
		return quote(out, e.strs[i])
	case tensor.KindBool:
		return strconv.AppendBool(out, e.data[i] != 0)
	case tensor.KindFloat:
		return appendFloat(out, e.dtype, e.bits(i))
	case tensor.KindInt:
		unused := 64 - e.dtype.Bits()
		return strconv.AppendInt(out, int64(e.bits(i))<<unused>>unused, 10)
	}
	return strconv.AppendUint(out, e.bits(i), 10)
}

// bits returns the bits of element i.
func (e *elements) bits(i int) uint64 {
	n := e.dtype.Bits()
	if n < 8 {
		at := i * n
		word := uint16(e.data[at/8])
		if at%8+n > 8 {
			word |= uint16(e.data[at/8+1]) << 8
		}
		return uint64(word>>(at%8)) & (1<<n - 1)
	}
	var v uint64
	for k := range n / 8 {
		v |= uint64(e.data[i*n/8+k]) << (8 * k)
	}
	return v
}
