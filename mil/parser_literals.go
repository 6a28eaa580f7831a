package mil

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/tensor"
)

// constant reads a typed constant: "fp16(0x1p-1)", "tensor<int32, [2]>([1, 2])",
// "tensor<fp16, [8]>(BLOBFILE(path = …, offset = …))".
func (p *parser) constant() *Constant {
	t := p.typ()
	p.expect('(', "before the value of a constant")
	if p.err != nil {
		return nil
	}
	if _, isTensor := t.(*TensorType); !isTensor && p.accept(')') {
		return &Constant{Type: t} // compilers write an empty tuple, list or dictionary as ()
	}
	c := p.literal(t)
	p.expect(')', "after the value of a constant")
	return c
}

// literal reads the value of a constant whose type is known: the text inside a constant's parentheses.
func (p *parser) literal(t Type) *Constant {
	p.nest()
	defer p.unnest()
	if p.tok.kind == tokName && (p.ahead.kind == '(' || p.ahead.kind == '<') && !p.isWord("BLOBFILE") && !p.isWord("nan") {
		return p.typedLiteral(t)
	}
	switch t := t.(type) {
	case *TensorType:
		if p.isWord("BLOBFILE") {
			return p.blob(t)
		}
		return &Constant{Type: t, Tensor: p.array(t)}
	case *ListType:
		return p.list(t)
	case *TupleType:
		return p.tuple(t)
	case *DictType:
		return p.dict(t)
	}
	p.fail(p.tok, "a constant cannot have type %v", t)
	return nil
}

// typedLiteral reads a literal that repeats its type.
func (p *parser) typedLiteral(want Type) *Constant {
	at := p.tok
	c := p.constant()
	if p.err == nil && !Equal(c.Type, want) {
		p.fail(at, "expected a constant of type %v, found %v", want, c.Type)
	}
	return c
}

func (p *parser) list(t *ListType) *Constant {
	at := p.tok
	c := &Constant{Type: t}
	p.expect('[', "before the elements of a list")
	p.commaList(']', "after an element of a list", func() { c.Items = append(c.Items, p.literal(t.Elem)) })
	if p.err == nil && t.Length.Known() && int(t.Length) != len(c.Items) {
		p.fail(at, "%v has length %d, found %d", t, t.Length, len(c.Items))
	}
	return c
}

func (p *parser) tuple(t *TupleType) *Constant {
	at := p.tok
	c := &Constant{Type: t}
	p.expect('(', "before the elements of a tuple")
	p.commaList(')', "after an element of a tuple", func() {
		if len(c.Items) == len(t.Elems) {
			p.fail(p.tok, "%v has length %d, found more", t, len(t.Elems))
			return
		}
		c.Items = append(c.Items, p.literal(t.Elems[len(c.Items)]))
	})
	if p.err == nil && len(c.Items) != len(t.Elems) {
		p.fail(at, "%v has length %d, found %d", t, len(t.Elems), len(c.Items))
	}
	return c
}

func (p *parser) dict(t *DictType) *Constant {
	c := &Constant{Type: t}
	p.expect('{', "before the entries of a dictionary")
	p.commaList('}', "after an entry of a dictionary", func() {
		p.expect('{', "before the key of an entry")
		e := Entry{Key: p.literal(t.Key)}
		p.expect(',', "after the key of an entry")
		e.Value = p.literal(t.Value)
		p.expect('}', "after the value of an entry")
		c.Entries = append(c.Entries, e)
	})
	return c
}

var (
	stringScalar = Tensor(tensor.String)
	uint64Scalar = Tensor(tensor.UInt64)
)

// blob reads "BLOBFILE(path = string("…"), offset = uint64(64))".
func (p *parser) blob(t *TensorType) *Constant {
	at := p.tok
	p.word("BLOBFILE")
	p.expect('(', "after BLOBFILE")
	var path, offset *tensor.Tensor
	p.commaList(')', "after an argument of BLOBFILE", func() {
		name := p.tok
		switch word := p.name("path or offset"); {
		case word == "path" && path == nil:
			p.expect('=', "after path")
			path = p.blobArgument(stringScalar)
		case word == "offset" && offset == nil:
			p.expect('=', "after offset")
			offset = p.blobArgument(uint64Scalar)
		default:
			p.fail(name, "BLOBFILE takes one path and one offset, found %q", word)
		}
	})
	if path == nil || offset == nil {
		p.fail(at, "BLOBFILE takes a path and an offset")
		return nil
	}
	return &Constant{Type: t, File: &FileRef{
		Path:   path.Strings()[0],
		Offset: tensor.Data[uint64](offset)[0],
		Files:  p.files,
	}}
}

// blobArgument reads a scalar, with its type or without.
func (p *parser) blobArgument(want *TensorType) *tensor.Tensor {
	if p.tok.kind != tokName {
		return p.array(want)
	}
	at := p.tok
	t := p.typ()
	if p.err == nil && !Equal(t, want) {
		p.fail(at, "expected a constant of type %v, found %v", want, t)
	}
	p.expect('(', "before the value of a constant")
	value := p.array(want)
	p.expect(')', "after the value of a constant")
	return value
}

// arrayLiteral gathers the elements of an array. Nothing is allocated for the declared shape: the elements
// that are there decide.
type arrayLiteral struct {
	*parser
	t     *TensorType
	after string // where a comma or bracket is missing, for messages
	dims  []int  // as found; -1 where not known yet
	data  []byte
	strs  []string
	n     int // elements so far
}

// array reads the elements of a tensor: one value for a scalar, nested lists in brackets otherwise. Two more
// forms are found in texts that people and scripts write: one value without brackets for a tensor of one
// element, and a flat list for a tensor of higher rank. It returns nil after an error.
func (p *parser) array(t *TensorType) *tensor.Tensor {
	if t.AnyRank {
		p.fail(p.tok, "a constant cannot have type %v: its rank must be known", t)
		return nil
	}
	a := &arrayLiteral{parser: p, t: t, after: "after an element of " + t.String(), dims: make([]int, len(t.Shape))}
	for i, d := range t.Shape {
		a.dims[i] = -1
		if d.Known() {
			a.dims[i] = int(d)
		}
	}
	at := p.tok
	known := t.Shape.Known()
	count, fits := t.Shape.Count()
	switch {
	case known && !fits:
		p.fail(at, "%v has too many elements", t)
	case known && (!p.is('[') && count == 1 || p.is('[') && p.ahead.kind != '[' && len(t.Shape) > 1):
		a.flat(at, count)
	default:
		a.nested(0)
	}
	if p.err != nil {
		return nil
	}
	return a.tensor(at)
}

// flat reads one value, or a list of all of them.
func (a *arrayLiteral) flat(at token, count int) {
	if !a.accept('[') {
		a.element()
		return
	}
	a.commaList(']', a.after, func() {
		if a.n == count {
			a.fail(a.tok, "%v has size %d, found more", a.t, count)
			return
		}
		a.element()
	})
	if a.err == nil && a.n != count {
		a.fail(at, "%v has size %d, found %d", a.t, count, a.n)
	}
}

// nested reads the list of an axis, or an element below the last axis.
func (a *arrayLiteral) nested(axis int) {
	if axis == len(a.dims) {
		a.element()
		return
	}
	at := a.tok
	a.nest()
	defer a.unnest()
	if !a.accept('[') {
		a.expected("\"[\" before the elements of " + a.t.String())
		return
	}
	n := 0
	a.commaList(']', a.after, func() {
		if n == a.dims[axis] {
			a.fail(a.tok, "axis %d of %v has length %d, found more", axis, a.t, n)
			return
		}
		a.nested(axis + 1)
		n++
	})
	if a.err != nil {
		return
	}
	if a.dims[axis] < 0 {
		a.dims[axis] = n
	}
	if n != a.dims[axis] {
		a.fail(at, "axis %d of %v has length %d, found %d", axis, a.t, a.dims[axis], n)
	}
}

// tensor makes the array.
func (a *arrayLiteral) tensor(at token) *tensor.Tensor {
	for i := range a.dims {
		a.dims[i] = max(a.dims[i], 0) // unknown still: an axis inside an empty one
	}
	d := a.t.DType
	if d == tensor.String {
		return tensor.Of(a.strs, a.dims...)
	}
	data := a.data
	if d.SubByte() {
		data = packBits(data, d.Bits())
	}
	t, err := tensor.FromBytes(d, a.dims, data)
	if err != nil {
		a.fail(at, "%v", err)
	}
	return t
}

// packBits turns one byte for each element into a little-endian stream of elements of n bits.
func packBits(elems []byte, n int) []byte {
	out := make([]byte, (len(elems)*n+7)/8)
	for i, e := range elems {
		at := i * n
		word := uint16(e) << (at % 8)
		out[at/8] |= byte(word)
		if high := byte(word >> 8); high != 0 {
			out[at/8+1] |= high
		}
	}
	return out
}

// element reads one element: a bare literal, or one that repeats its type.
func (a *arrayLiteral) element() {
	a.n++
	if a.tok.kind == tokName && (a.ahead.kind == '(' || a.ahead.kind == '<') && !a.isWord("nan") {
		a.typedElement()
		return
	}
	d := a.t.DType
	switch d.Kind() {
	case tensor.KindString:
		if a.tok.kind != tokString {
			a.expected("a string")
			return
		}
		a.strs = append(a.strs, a.unquote(a.tok))
		a.advance()
	case tensor.KindBool:
		switch {
		case a.isWord("true"):
			a.data = append(a.data, 1)
		case a.isWord("false"):
			a.data = append(a.data, 0)
		default:
			a.expected("true or false")
		}
		a.advance()
	case tensor.KindFloat:
		a.append(a.float(d))
	default:
		a.append(a.integer(d))
	}
}

// append adds the low bits of an element.
func (a *arrayLiteral) append(bits uint64) {
	switch a.t.DType.Size() {
	case 2:
		a.data = binary.LittleEndian.AppendUint16(a.data, uint16(bits))
	case 4:
		a.data = binary.LittleEndian.AppendUint32(a.data, uint32(bits))
	case 8:
		a.data = binary.LittleEndian.AppendUint64(a.data, bits)
	default: // 1, or 0 for a sub-byte type, packed at the end
		a.data = append(a.data, byte(bits)&(1<<a.t.DType.Bits()-1))
	}
}

// typedElement reads "fp16(0x1p-1)" inside a tensor of fp16.
func (a *arrayLiteral) typedElement() {
	at := a.tok
	c := a.typedLiteral(Tensor(a.t.DType))
	switch {
	case a.err != nil:
	case c.Tensor == nil:
		a.fail(at, "an element of an array cannot live in a file")
	case a.t.DType == tensor.String:
		a.strs = append(a.strs, c.Tensor.Strings()...)
	default:
		a.data = append(a.data, c.Tensor.Bytes()...)
	}
}
