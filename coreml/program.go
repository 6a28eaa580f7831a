package coreml

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/espalier-ane/espalier/mil"
)

// maxDepth bounds how deep blocks, types and values may be nested, all together. It is the limit of
// protobuf's own readers for messages; real programs stay far below.
const maxDepth = 100

// programDecoder decodes a MILSpec.Program (MIL.proto).
type programDecoder struct {
	keeper
	files mil.Files
	depth int // of the type, value or block that is being decoded
}

// decodeProgram decodes the body of a model of type mlProgram.
func (m *Model) decodeProgram() (*mil.Program, []UnknownField, error) {
	d := &programDecoder{files: m.file.weights}
	p, err := d.program(m.body)
	if err != nil {
		return nil, nil, inFile(m.file.name, under(m.Type.String(), err))
	}
	return p, d.unknown, nil
}

func (d *programDecoder) program(m message) (*mil.Program, error) {
	p := &mil.Program{}
	functions, attributes := map[string]message{}, map[string]message{}
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			p.Version = strconv.FormatInt(f.int64("version"), 10)
		case 2:
			f.mapEntry("functions", functions)
		case 4:
			f.mapEntry("attributes", attributes)
		default: // with docString, which mil.Program has no place for
			d.keep("Program", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	var err error
	if p.Attributes, err = d.attributes(attributes); err != nil {
		return nil, err
	}
	// The functions of a file come in no particular order.
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		function, err := d.function(name, functions[name])
		if err != nil {
			return nil, under("functions["+name+"]", err)
		}
		p.Functions = append(p.Functions, function)
	}
	return p, nil
}

// mapEntry adds the current field, an entry of a map, to entries.
func (f *fields) mapEntry(name string, entries map[string]message) {
	key, value := f.entry(name)
	if f.err != nil {
		return
	}
	if key == "" {
		f.fail(name, "an entry has no name")
		return
	}
	if before, ok := entries[key]; ok {
		f.fail(name+"["+key+"]", "the entry occurs a second time, after byte 0x%x", before.at)
		return
	}
	entries[key] = value
}

// attributes decodes the entries of a map of attributes.
func (d *programDecoder) attributes(entries map[string]message) (mil.Attributes, error) {
	var list mil.Attributes
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		c, err := d.value(entries[name])
		if err != nil {
			return nil, under("attributes["+name+"]", err)
		}
		list = append(list, mil.Attribute{Name: name, Value: c})
	}
	return list, nil
}

func (d *programDecoder) function(name string, m message) (*mil.Function, error) {
	fn := &mil.Function{Name: name}
	blocks, attributes := map[string]message{}, map[string]message{}
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			fn.Inputs = append(fn.Inputs, d.namedValue(f, "inputs", len(fn.Inputs)))
		case 2:
			fn.Opset = f.text("opset")
		case 3:
			f.mapEntry("block_specializations", blocks)
		case 4:
			f.mapEntry("attributes", attributes)
		default:
			d.keep("Function", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	body, ok := blocks[fn.Opset]
	if !ok {
		return nil, damage(m.at, "the function is of opset %q, but has a body for %q only", fn.Opset, slices.Sorted(maps.Keys(blocks)))
	}
	outer := newScope(nil)
	for i, v := range fn.Inputs {
		if err := outer.define(v, m.at); err != nil {
			return nil, under(fmt.Sprintf("inputs[%d]", i), err)
		}
	}
	var err error
	if fn.Attributes, err = d.attributes(attributes); err != nil {
		return nil, err
	}
	fn.Body, err = d.block(body, outer)
	if err == nil && len(fn.Body.Inputs) > 0 {
		err = damage(body.at, "the body of a function has no inputs besides those of the function, found %q", fn.Body.Inputs[0].Name)
	}
	return fn, under("block_specializations["+fn.Opset+"]", err)
}

// namedValue decodes the current field of f, the i-th NamedValueType of a list.
func (d *programDecoder) namedValue(f *fields, field string, i int) *mil.Value {
	v := &mil.Value{}
	m := f.message(field)
	var typ message
	g := m.fields()
	for g.next() {
		switch g.num {
		case 1:
			v.Name = g.text("name")
		case 2:
			g.one("type", &typ)
		default:
			d.keep("NamedValueType", g)
		}
	}
	err := g.err
	switch {
	case f.err != nil:
		return v
	case err != nil:
	case v.Name == "":
		err = under("name", damage(m.at, "the value has no name"))
	case !typ.present():
		err = under("type", damage(m.at, "value %q has no type", v.Name))
	default:
		v.Type, err = d.valueType(typ)
		err = under("type", err)
	}
	if err != nil {
		f.err = under(fmt.Sprintf("%s[%d]", field, i), err)
	}
	return v
}

// block decodes a Block whose values may be those of the scopes around it.
func (d *programDecoder) block(m message, outer *scope) (*mil.Block, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, damage(m.at, "blocks are nested more than %d deep", maxDepth)
	}
	defer func() { d.depth-- }()

	b := &mil.Block{}
	attributes := map[string]message{}
	var operations []message
	type use struct {
		name string
		at   int64
	}
	var outputs []use
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			b.Inputs = append(b.Inputs, d.namedValue(f, "inputs", len(b.Inputs)))
		case 2:
			outputs = append(outputs, use{f.text("outputs"), f.start})
		case 3:
			operations = append(operations, f.message("operations"))
		case 4:
			f.mapEntry("attributes", attributes)
		default:
			d.keep("Block", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}

	var err error
	if b.Attributes, err = d.attributes(attributes); err != nil {
		return nil, err
	}
	inner := newScope(outer)
	for i, v := range b.Inputs {
		if err := inner.define(v, m.at); err != nil {
			return nil, under(fmt.Sprintf("inputs[%d]", i), err)
		}
	}
	for i, raw := range operations {
		inner.upcoming = operations[i:]
		op, err := d.operation(raw, inner)
		if err != nil {
			return nil, under(fmt.Sprintf("operations[%d]", i), err)
		}
		b.Operations = append(b.Operations, op)
	}
	inner.upcoming = nil
	for i, output := range outputs {
		v := inner.lookup(output.name)
		if v == nil {
			return nil, under(fmt.Sprintf("outputs[%d]", i), damage(output.at, "the block gives value %q, which is not defined", output.name))
		}
		b.Outputs = append(b.Outputs, v)
	}
	return b, nil
}

func (d *programDecoder) operation(m message, s *scope) (*mil.Operation, error) {
	op := &mil.Operation{Pos: mil.Pos{Offset: m.at}}
	arguments, attributes := map[string]message{}, map[string]message{}
	var blocks []message
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			op.Kind = f.text("type")
		case 2:
			f.mapEntry("inputs", arguments)
		case 3:
			v := d.namedValue(f, "outputs", len(op.Outputs))
			v.Def = op
			op.Outputs = append(op.Outputs, v)
		case 4:
			blocks = append(blocks, f.message("blocks"))
		case 5:
			f.mapEntry("attributes", attributes)
		default:
			d.keep("Operation", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if op.Kind == "" {
		return nil, under("type", damage(m.at, "the operation has no type"))
	}
	var err error
	if op.Attributes, err = d.attributes(attributes); err != nil {
		return nil, err
	}
	for _, param := range slices.Sorted(maps.Keys(arguments)) {
		args, err := d.argument(arguments[param], s, op)
		if err != nil {
			return nil, under("inputs["+param+"]", err)
		}
		op.Inputs = append(op.Inputs, mil.Input{Param: param, Args: args})
	}
	for i, raw := range blocks {
		block, err := d.block(raw, s)
		if err != nil {
			return nil, under(fmt.Sprintf("blocks[%d]", i), err)
		}
		op.Blocks = append(op.Blocks, block)
	}
	// Its outputs are in scope after the operation, not in its own inputs and blocks.
	for i, v := range op.Outputs {
		if err := s.define(v, m.at); err != nil {
			return nil, under(fmt.Sprintf("outputs[%d]", i), err)
		}
	}
	return op, nil
}

// argument decodes an Argument, the bindings of one parameter of op.
func (d *programDecoder) argument(m message, s *scope, op *mil.Operation) ([]mil.Arg, error) {
	var args []mil.Arg
	f := m.fields()
	for f.next() {
		if f.num != 1 {
			d.keep("Argument", f)
			continue
		}
		arg, err := d.binding(f.message("arguments"), s, op)
		f.wrapAt("arguments", len(args), err)
		args = append(args, arg)
	}
	return args, f.err
}

func (d *programDecoder) binding(m message, s *scope, op *mil.Operation) (arg mil.Arg, err error) {
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1, 2:
			if arg.Value != nil || arg.Const != nil {
				f.fail("binding", "the parameter is bound twice")
			} else if f.num == 1 {
				name := f.text("name")
				if f.err != nil {
					break
				}
				if arg.Value = s.lookup(name); arg.Value == nil {
					f.fail("name", "%s takes value %q, %s", describe(op), name, s.whyMissing(name))
				}
			} else {
				arg.Const, err = d.value(f.message("value"))
				f.wrap("value", err)
			}
		default:
			d.keep("Binding", f)
		}
	}
	if f.err == nil && arg.Value == nil && arg.Const == nil {
		return arg, damage(m.at, "the parameter is bound to nothing")
	}
	return arg, f.err
}

// describe names an operation in a message: "operation conv (conv_7)".
func describe(op *mil.Operation) string {
	if name := op.Name(); name != op.Kind {
		return fmt.Sprintf("operation %s (%s)", op.Kind, name)
	}
	return "operation " + op.Kind
}
