package mil

import (
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// typ reads a type: "fp16", "tensor<fp16, [1, ?]>", "list<…, 3>", "tuple<…, …>", "dict<…, …>", "state<…>".
// It returns nil after an error.
func (p *parser) typ() Type {
	if p.tok.kind != tokName {
		p.expected("a type")
		return nil
	}
	at, word := p.tok, string(p.text(p.tok))
	var t Type
	switch {
	case p.ahead.kind != '<':
		return p.scalarType()
	case word == "tensor":
		p.advance()
		p.advance()
		t = p.tensorType()
	default:
		t = p.typeOfTypes(word)
	}
	if t == nil {
		p.fail(at, "unknown type %q: expected tensor, list, tuple, dict, state or an element type", word)
		return nil
	}
	p.expect('>', "after a "+word+" type")
	if p.err != nil {
		return nil
	}
	return t
}

// typeOfTypes reads a type that is made of others, up to the closing mark; nil if there is no such type.
func (p *parser) typeOfTypes(word string) Type {
	p.nest()
	defer p.unnest()
	p.advance()
	p.advance()
	switch word {
	case "list":
		l := &ListType{Elem: p.typ(), Length: tensor.Unknown}
		if p.accept(',') {
			l.Length = p.dim()
		}
		return l
	case "tuple":
		tuple := &TupleType{}
		for !p.is('>') && p.err == nil {
			if len(tuple.Elems) > 0 {
				p.expect(',', "between the types of a tuple")
			}
			tuple.Elems = append(tuple.Elems, p.typ())
		}
		return tuple
	case "dict":
		d := &DictType{Key: p.typ()}
		p.expect(',', "after the key type of a dict")
		d.Value = p.typ()
		return d
	case "state":
		return &StateType{Elem: p.typ()}
	}
	return nil
}

// scalarType reads an element type that stands for a type: a tensor of rank 0.
func (p *parser) scalarType() Type {
	d := p.dtype()
	if p.err != nil {
		return nil
	}
	return &TensorType{DType: d, Shape: tensor.Shape{}}
}

func (p *parser) dtype() tensor.DType {
	if p.tok.kind != tokName {
		p.expected("an element type such as fp16")
		return tensor.Invalid
	}
	d, err := tensor.ParseDType(string(p.text(p.tok)))
	if err != nil {
		p.fail(p.tok, "%v", err)
	}
	p.advance()
	return d
}

// tensorType reads what follows "tensor<", up to the shape.
func (p *parser) tensorType() Type {
	t := &TensorType{DType: p.dtype(), Shape: tensor.Shape{}}
	p.expect(',', "after an element type")
	p.expect('[', "before a shape")
	if p.accept(tokEllipsis) { // not even the rank is known; the spelling is ours, no real text has it
		t.Shape, t.AnyRank = nil, true
		p.expect(']', "after ...")
		return t
	}
	p.commaList(']', "after a dimension", func() { t.Shape = append(t.Shape, p.dim()) })
	return t
}

// dim reads the length of an axis: a number, "?", or a symbol such as "s0".
func (p *parser) dim() tensor.Dim {
	at := p.tok
	text := string(p.text(at))
	switch {
	case p.accept('?'):
		return tensor.Unknown
	case at.kind == tokNumber:
		p.advance()
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			p.fail(at, "expected a length, found %q", text)
		}
		return tensor.Dim(n)
	case at.kind == tokName && strings.HasPrefix(text, "s"):
		if i, err := strconv.ParseUint(text[1:], 10, 31); err == nil {
			p.advance()
			return tensor.Symbol(int(i))
		}
	}
	p.expected("a length or ?")
	return 0
}
