package anec

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// A Parsed graph knows where it stands in the text.
type Parsed struct {
	*Graph
	Line  int            // where it begins
	Lines map[string]int // of the layers, by name
}

// IsText reports whether a file is text of graphs: its first word is "graph".
func IsText(data []byte) bool {
	const begins = 1 << 16 // comments may stand before
	s := scanner{text: string(bytes.TrimPrefix(data[:min(len(data), begins)], []byte(byteOrder)))}
	return s.next() && s.acceptWord("graph") && s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0
}

// byteOrder may stand before a text.
const byteOrder = "\ufeff"

// Parse reads the text of one graph. open finds the files that it has constants in; it may be nil if the text names none. The
// graph is verified. What is wrong with a line is a *TextError.
func Parse(text string, open func(file string) ([]byte, error)) (*Graph, error) {
	all, err := ParseAll(text, open)
	switch {
	case err != nil:
		return nil, err
	case len(all) > 1:
		return nil, &TextError{all[1].Line, 1, errors.New("a second graph: want one")}
	}
	return all[0].Graph, nil
}

// ParseAll reads graphs that stand one after the other, each from its line "graph" on.
func ParseAll(text string, open func(file string) ([]byte, error)) ([]Parsed, error) {
	p := parser{scanner: scanner{text: strings.TrimPrefix(text, byteOrder)}, open: open, budget: maxParsed}
	p.begin()
	var all []Parsed
	for isFirst := true; p.next(); isFirst = false {
		if p.peek() == "graph" && !isFirst {
			if err := p.finish(); err != nil {
				return nil, err
			}
			all = append(all, p.Parsed)
			p.begin()
		}
		if err := p.statement(); err != nil {
			return nil, p.errorAt(p.mark, err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return append(all, p.Parsed), nil
}

// maxParsed bounds the memory of constants that a text spells out in few words.
const maxParsed = 256 << 20

type parser struct {
	scanner
	Parsed
	open   func(string) ([]byte, error)
	budget int

	line, counted int       // the line of a place up to which lines are counted
	after         []pending // states: what they leave
}

type pending struct {
	state *State
	name  string
	at    int
}

// begin begins a graph.
func (p *parser) begin() {
	p.Parsed = Parsed{New(""), p.lineNumber(), map[string]int{}}
	p.after = nil
}

// lineNumber is that of the statement.
func (p *parser) lineNumber() int {
	p.line += strings.Count(p.text[p.counted:p.at], "\n")
	p.counted = p.at
	return p.line + 1
}

func (p *parser) statement() error {
	if p.sees("%") {
		return p.layer()
	}
	p.mark = p.at
	word := p.peek()
	switch word {
	case "graph":
		p.Line = p.lineNumber()
		p.acceptWord(word)
		name, err := p.name()
		if err != nil {
			return err
		}
		p.Graph.Name = name
		return p.end()
	case "form":
		p.acceptWord(word)
		if form := p.raw(" "); form != "2020" {
			return fmt.Errorf("form %q; want 2020", form)
		}
		p.Graph.Form2020 = true
		return p.end()
	case "input":
		p.acceptWord(word)
		return p.input()
	case "state":
		p.acceptWord(word)
		return p.state()
	case "const":
		p.acceptWord(word)
		return p.constant()
	case "output":
		p.acceptWord(word)
		v, err := p.value()
		if err != nil {
			return err
		}
		if v == nil {
			return errors.New("an output is not there")
		}
		p.Graph.AddOutput(v)
		return p.end()
	}
	return fmt.Errorf("a line begins with %q; want graph, form, input, state, const, output or a value", word)
}

func (p *parser) input() error {
	name, t, err := p.declaration()
	if err != nil {
		return err
	}
	at := p.mark
	if err := p.end(); err != nil {
		return err
	}
	p.mark = at
	v, err := p.Graph.AddInput(name, t)
	if err == nil {
		v.Type.Interleave = t.Interleave
	}
	return err
}

func (p *parser) state() error {
	name, t, err := p.declaration()
	if err != nil {
		return err
	}
	s, err := p.Graph.AddState(name, t)
	if err != nil {
		return err
	}
	if err := p.expect("->"); err != nil {
		return err
	}
	after, err := p.valueName()
	if err != nil {
		return err
	}
	p.after = append(p.after, pending{s, after, p.mark})
	if p.accept("@") {
		if s.Name, err = p.name(); err != nil {
			return err
		}
	}
	return p.end()
}

func (p *parser) constant() error {
	name, t, err := p.declaration()
	if err != nil {
		return err
	}
	at := p.mark
	c, err := p.parts(t)
	if err != nil {
		return err
	}
	if err := p.end(); err != nil {
		return err
	}
	p.mark = at
	v, err := p.Graph.AddConstant(name, c)
	if err == nil {
		v.Type.Interleave = t.Interleave
	}
	return err
}

// finish ends a graph.
func (p *parser) finish() error {
	for _, a := range p.after {
		if a.state.After = p.Graph.Value(a.name); a.state.After == nil {
			return p.errorAt(a.at, fmt.Errorf("state %q leaves %q, which is not there", a.state.Name, a.name))
		}
	}
	return Verify(p.Graph)
}

// layer reads a layer and holds the types that it declares to the rule.
func (p *parser) layer() error {
	line := p.lineNumber()
	var s Spec
	for {
		name, err := p.valueName()
		if err != nil {
			return err
		}
		s.Tops = append(s.Tops, name)
		if !p.accept(",") {
			break
		}
	}
	s.Name = s.Tops[0]
	if err := p.expect("="); err != nil {
		return err
	}
	params, err := p.operation()
	if err != nil {
		return err
	}
	at := p.mark
	s.Params = params
	if err := p.bottoms(&s); err != nil {
		return err
	}
	if err := p.attributes(s.Params, &s.OutputType); err != nil {
		return err
	}
	if err := p.epilogue(&s.Epilogue); err != nil {
		return err
	}
	declared, places, err := p.types()
	if err != nil {
		return err
	}
	if err := p.names(&s); err != nil {
		return err
	}
	p.mark = at
	l, err := p.Graph.Add(s)
	if err != nil {
		return err
	}
	p.Lines[l.Name] = line
	if len(l.Tops) != len(declared) {
		p.mark = places[0]
		return l.errorf("%d types, the rule makes %d tops", len(declared), len(l.Tops))
	}
	for i, t := range declared {
		if !l.Tops[i].Type.Same(t) {
			p.mark = places[i]
			return l.errorf("top %q is %v, the rule says %v", l.Tops[i].Name, t, l.Tops[i].Type)
		}
		l.Tops[i].Type.Interleave = t.Interleave
	}
	return nil
}

// operation reads the name of an operation, and makes its fields.
func (p *parser) operation() (Params, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	params, ok := paramsNamed(name)
	if !ok {
		return nil, fmt.Errorf("there is no operation %q%s", name, nearOperation(name))
	}
	return params, nil
}

func (p *parser) bottoms(s *Spec) error {
	if err := p.expect("("); err != nil {
		return err
	}
	p.nested++
	defer func() { p.nested-- }()
	for !p.accept(")") {
		if len(s.Bottoms) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		v, err := p.value()
		if err != nil {
			return err
		}
		s.Bottoms = append(s.Bottoms, v)
	}
	return nil
}

// dictionary reads "{name = value, …}" if there is one. A name alone is true.
func (p *parser) dictionary(set func(name, value string) error) error {
	if !p.accept("{") {
		return nil
	}
	p.nested++
	defer func() { p.nested-- }()
	for isFirst := true; !p.accept("}"); isFirst = false {
		if !isFirst {
			if err := p.expect(","); err != nil {
				return err
			}
			if p.accept("}") { // after the last comma of many lines
				return nil
			}
		}
		name, err := p.name()
		if err != nil {
			return err
		}
		at, value := p.mark, "true"
		if p.accept("=") {
			value = p.raw(",}")
		}
		if err := set(name, value); err != nil {
			p.mark = at
			return err
		}
	}
	return nil
}

// attributes reads the fields of a layer. out is nil where no output_type may stand.
func (p *parser) attributes(params Params, out *tensor.DType) error {
	return p.dictionary(func(name, value string) (err error) {
		if name == outputType && out != nil {
			*out, err = tensor.ParseDType(value)
			return err
		}
		return parseAttribute(params, name, value)
	})
}

// outputType is the attribute that every layer may have.
const outputType = "output_type"

// types reads ": type, type".
func (p *parser) types() (list []Type, places []int, err error) {
	if err := p.expect(":"); err != nil {
		return nil, nil, err
	}
	for {
		t, err := parseType(p.raw(" ,@"))
		if err != nil {
			return nil, nil, err
		}
		list, places = append(list, t), append(places, p.mark)
		if !p.accept(",") {
			return list, places, nil
		}
	}
}

// names reads the name of a layer and its origin, at the end of the statement.
func (p *parser) names(s *Spec) (err error) {
	if p.accept("@") {
		if s.Name, err = p.name(); err != nil {
			return err
		}
	}
	if p.acceptWord("from") {
		for !p.atEnd() {
			o, err := p.name()
			if err != nil {
				return err
			}
			s.Origin = append(s.Origin, o)
		}
	}
	return p.end()
}

// declaration reads "%name : type".
func (p *parser) declaration() (string, Type, error) {
	name, err := p.valueName()
	if err != nil {
		return "", Type{}, err
	}
	if err := p.expect(":"); err != nil {
		return "", Type{}, err
	}
	t, err := parseType(p.raw(" "))
	return name, t, err
}

func parseType(s string) (Type, error) {
	name, rest, ok := strings.Cut(s, "[")
	dims, tail, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return Type{}, fmt.Errorf("%q is not a type", s)
	}
	t := Type{Interleave: 1}
	var err error
	if t.DType, err = tensor.ParseDType(name); err != nil {
		return t, err
	}
	shape, err := parseShape("[" + dims + "]")
	if err != nil || len(shape) != NumAxes {
		return t, fmt.Errorf("type %q: want %d extents", s, NumAxes)
	}
	t.Dims = Dims(shape)
	if tail != "" {
		if t.Interleave, err = strconv.Atoi(strings.TrimPrefix(tail, "x")); err != nil {
			return t, fmt.Errorf("type %q: %q is not an interleave", s, tail)
		}
	}
	return t, t.check()
}

func parseShape(s string) ([]int, error) {
	parts, err := listParts(s)
	if err != nil || len(parts) > NumAxes+2 {
		return nil, fmt.Errorf("%q is not a shape", s)
	}
	var shape []int
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a shape", s)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// value reads "%name" or "_".
func (p *parser) value() (*Value, error) {
	if p.acceptWord("_") {
		return nil, nil
	}
	name, err := p.valueName()
	if err != nil {
		return nil, err
	}
	v := p.Graph.Value(name)
	if v == nil {
		return nil, fmt.Errorf("there is no value %q above", name)
	}
	return v, nil
}

func (p *parser) valueName() (string, error) {
	if !p.accept("%") {
		p.mark = p.at
		return "", fmt.Errorf("want a value, found %q", p.peek())
	}
	at := p.mark
	name, err := p.name()
	p.mark = at
	return name, err
}
