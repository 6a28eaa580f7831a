package anec

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// epilogue reads the slots that Print writes, in any order.
func (p *parser) epilogue(e *Epilogue) (err error) {
	for err == nil && p.accept("|") {
		switch slot := p.word(); slot {
		case "texture":
			if e.Texture, err = p.operation(); err == nil {
				err = p.attributes(e.Texture, nil)
			}
		case "broadcast":
			var shape []int
			if shape, err = parseShape(p.word()); err == nil && len(shape) == NumAxes {
				e.Broadcast = Dims(shape)
			} else {
				err = fmt.Errorf("broadcast wants %d extents", NumAxes)
			}
		case "pre":
			e.Pre, err = parseActivation(p.word())
		case "post":
			e.Post, err = parseActivation(p.word())
		case "goc":
			e.GOC = &GainOffset{}
			err = p.values(&e.GOC.Gain, &e.GOC.Offset)
		case "transpose":
			e.Transpose, err = parsePerm(p.word())
		case "quant":
			e.Quant = &Requantize{}
			if e.Quant.Type, err = tensor.ParseDType(p.word()); err == nil {
				err = p.values(&e.Quant.Scale, &e.Quant.Zero)
			}
		default:
			var s Step
			s, err = p.step(slot)
			e.Steps = append(e.Steps, s)
		}
	}
	return err
}

// word reads a part of a slot.
func (p *parser) word() string { return p.raw(" |:@") }

func (p *parser) values(into ...**Value) (err error) {
	for _, v := range into {
		if *v, err = p.value(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) step(what string) (s Step, err error) {
	switch what {
	case "scale":
		s.Code = td.MicroScaleBias
		if s.A, err = parseFloat(p.word()); err == nil {
			s.B, err = parseFloat(p.word())
		}
	case "act":
		var a *Activation
		if a, err = parseActivation(p.word()); err == nil {
			s = Step{Code: td.MicroActivation, Function: a.Function, A: a.A, B: a.B}
		}
	case "cast":
		s.Code = td.MicroTypeCast
		s.Type, err = tensor.ParseDType(p.word())
	case "ew":
		s.Code = td.MicroEW
		if s.EW, err = token[td.EWKind](p.word()); err != nil {
			return s, err
		}
		switch {
		case p.sees("%"):
			s.Operand, err = p.value()
		case p.accept("#"):
			s.Earlier, err = strconv.Atoi(p.word())
			s.Earlier++
		default:
			s.A, err = parseFloat(p.word())
		}
		s.Swap = p.acceptWord("swap")
	default:
		err = fmt.Errorf("%q is no slot of an epilogue", what)
	}
	return s, err
}

// token finds a token by its name.
func token[T interface {
	~uint8
	String() string
}](name string) (T, error) {
	for i := range 256 {
		if T(i).String() == name {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not known", name)
}

func parseActivation(s string) (*Activation, error) {
	name, constants, has := strings.Cut(s, "(")
	f, err := token[td.Function](name)
	if err != nil {
		return nil, err
	}
	act := &Activation{Function: f}
	if !has {
		return act, nil
	}
	a, b, two := strings.Cut(strings.TrimSuffix(constants, ")"), ",")
	if act.A, err = parseFloat(a); err != nil || !two {
		return nil, fmt.Errorf("%q: want two constants", s)
	}
	act.B, err = parseFloat(b)
	return act, err
}

func parsePerm(s string) (*Perm, error) {
	var perm Perm
	if len(s) != NumAxes {
		return nil, fmt.Errorf("%q is not a permutation of NDCHW", s)
	}
	for i := range perm {
		a := strings.IndexByte("NDCHW", s[i])
		if a < 0 {
			return nil, fmt.Errorf("%q is not a permutation of NDCHW", s)
		}
		perm[i] = td.Axis(a)
	}
	return &perm, nil
}

// parts reads those of a constant of the type.
func (p *parser) parts(t Type) (*Constant, error) {
	c := &Constant{DType: t.DType, Dims: t.Dims}
	palette := &Palette{}
	err := p.dictionary(func(name, value string) (err error) {
		switch name {
		case "source":
			c.Source, err = parseSource(value)
			return err
		case "vector":
			palette.VectorAxis, err = token[td.Axis](value)
			c.Palette = palette
			return err
		}
		into := map[string]**tensor.Tensor{
			"data": &c.Stored, "mask": &c.Mask, "scale": &c.Scale, "offset": &c.Offset,
			"table": &palette.Table, "table_scale": &palette.Scale, "table_offset": &palette.Offset,
		}[name]
		if into == nil {
			return fmt.Errorf("a constant has no part %q", name)
		}
		if *into, err = p.part(value, t); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if strings.HasPrefix(name, "table") {
			c.Palette = palette
		}
		return nil
	})
	return c, err
}

// parseSource reads "file+offset".
func parseSource(text string) (s Source, err error) {
	at := scanner{text: text}
	if s.File, err = at.name(); err != nil {
		return s, err
	}
	if s.Offset, err = strconv.ParseInt(strings.TrimPrefix(at.raw(""), "+"), 10, 64); err != nil {
		return s, fmt.Errorf("source: %w", err)
	}
	return s, nil
}

// part reads a tensor: a type, unless it is that of the constant, and content.
func (p *parser) part(s string, t Type) (*tensor.Tensor, error) {
	d, shape := t.DType, t.Dims[:]
	if before, content, ok := strings.Cut(s, "]:"); ok {
		name, dims, _ := strings.Cut(before, "[")
		var err error
		if d, err = tensor.ParseDType(name); err != nil {
			return nil, err
		}
		if shape, err = parseShape("[" + dims + "]"); err != nil {
			return nil, err
		}
		s = content
	}
	n, ok := tensor.Count(shape)
	size, fits := d.ByteLen(n)
	if !ok || !fits || d.Bits() == 0 {
		return nil, fmt.Errorf("%v%v is not the type of a tensor", d, shape)
	}
	if strings.HasPrefix(s, "[") {
		return parseElements(d, s, shape, n)
	}
	form, inner, ok := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	if !ok {
		return nil, fmt.Errorf("%q has no elements", s)
	}
	switch form {
	case "hex":
		return parseHex(d, inner, shape)
	case "file":
		return p.filePart(d, inner, shape, size)
	case "blob":
		return nil, fmt.Errorf("the text leaves out the bytes of the constant, %s: espalier compile -o FILE.anec writes them to a file beside it", s)
	case "splat":
		if p.budget -= size; p.budget < 0 {
			return nil, fmt.Errorf("the constants take more than %d bytes", maxParsed)
		}
		return parseSplat(d, inner, shape, size)
	}
	return nil, fmt.Errorf("%q: want a list, splat(…), hex(…) or file(…)", s)
}

func parseHex(d tensor.DType, digits string, shape []int) (*tensor.Tensor, error) {
	data, err := hex.DecodeString(digits)
	if err != nil {
		return nil, err
	}
	return tensor.FromBytes(d, shape, data)
}

func parseElements(d tensor.DType, list string, shape []int, n int) (*tensor.Tensor, error) {
	parts, err := listParts(list)
	if err != nil {
		return nil, err
	}
	if len(parts) != n {
		return nil, fmt.Errorf("%d elements, want %d", len(parts), n)
	}
	if d.IsFloat() {
		values := make([]float32, n)
		for i, s := range parts {
			f, err := parseFloat(s)
			if err != nil {
				return nil, err
			}
			values[i] = f
		}
		return tensor.FromFloat32s(d, values, shape...), nil
	}
	values := make([]int64, n)
	for i, s := range parts {
		v, err := strconv.ParseInt(s, 10, 64)
		if lo, hi := d.IntRange(); err != nil || v < lo || v > 0 && uint64(v) > hi {
			return nil, fmt.Errorf("%q is no %v", s, d)
		}
		values[i] = v
	}
	return tensor.FromInt64s(d, values, shape...), nil
}

func parseSplat(d tensor.DType, value string, shape []int, size int) (*tensor.Tensor, error) {
	repeat := max(8/d.Bits(), 1) // elements that fill whole bytes
	first, err := parseElements(d, "["+strings.Repeat(value+",", repeat-1)+value+"]", []int{repeat}, repeat)
	if digits, ok := strings.CutPrefix(value, "hex("); ok {
		first, err = parseHex(d, strings.TrimSuffix(digits, ")"), []int{1})
	}
	if err != nil {
		return nil, err
	}
	unit := first.Bytes()
	data := make([]byte, size)
	for i := range data {
		data[i] = unit[i%len(unit)]
	}
	return tensor.FromBytes(d, shape, data)
}

// filePart reads "file+offset, n": n bytes of a file.
func (p *parser) filePart(d tensor.DType, inner string, shape []int, size int) (*tensor.Tensor, error) {
	at := scanner{text: inner}
	name, err := at.name()
	if err != nil {
		return nil, err
	}
	place, length, _ := strings.Cut(at.raw(""), ",")
	offset, err := strconv.ParseUint(strings.TrimPrefix(place, "+"), 10, 63)
	if n, bad := strconv.Atoi(strings.TrimSpace(length)); err != nil || bad != nil || n != size {
		return nil, fmt.Errorf("%q: want a file, +offset and %d, the bytes of %v%v", inner, size, d, tensor.ShapeOf(shape...))
	}
	if p.open == nil {
		return nil, fmt.Errorf("the file %s is not there", name)
	}
	data, err := p.open(name)
	if err != nil {
		return nil, err
	}
	if offset > uint64(len(data)) || uint64(size) > uint64(len(data))-offset {
		return nil, fmt.Errorf("%s has %d bytes, and %d are wanted from byte %d on", name, len(data), size, offset)
	}
	return tensor.FromBytes(d, shape, data[offset:])
}
