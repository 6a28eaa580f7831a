package anec

import (
	"bytes"
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
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		if !bytes.HasPrefix(data, []byte("#")) {
			break
		}
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	rest, ok := bytes.CutPrefix(data, []byte("graph"))
	return ok && len(rest) > 0 && bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0
}

// Parse reads the text of one graph. open finds the files that it has constants in; it may be nil if the text names none. The
// graph is verified.
func Parse(text string, open func(file string) ([]byte, error)) (*Graph, error) {
	all, err := ParseAll(text, open)
	switch {
	case err != nil:
		return nil, err
	case len(all) > 1:
		return nil, fmt.Errorf("line %d: a second graph: want one", all[1].Line)
	}
	return all[0].Graph, nil
}

// ParseAll reads graphs that stand one after the other, each from its line "graph" on.
func ParseAll(text string, open func(file string) ([]byte, error)) ([]Parsed, error) {
	p := parser{open: open, budget: maxParsed}
	p.begin(1)
	var all []Parsed
	finish := func() error {
		if err := p.finish(); err != nil {
			return err
		}
		all = append(all, p.Parsed)
		return nil
	}
	for n, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		p.rest, p.number = line, n+1
		if p.peekWord() == "graph" && p.started {
			if err := finish(); err != nil {
				return nil, err
			}
			p.begin(n + 1)
		}
		p.started = true
		if err := p.line(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	err := finish()
	return all, err
}

// maxParsed bounds the memory of constants that a text spells out in few words.
const maxParsed = 256 << 20

type parser struct {
	Parsed
	open    func(string) ([]byte, error)
	rest    string
	number  int // of the line
	budget  int
	started bool // the graph has a line

	after []pending // states: what they leave
}

type pending struct {
	state *State
	name  string
}

// begin begins a graph.
func (p *parser) begin(line int) {
	p.Parsed = Parsed{New(""), line, map[string]int{}}
	p.after = nil
}

func (p *parser) line() error {
	if strings.HasPrefix(p.rest, "%") {
		return p.layer()
	}
	word := p.word()
	switch word {
	case "graph":
		name, err := p.name()
		p.Graph.Name, p.Line = name, p.number
		return p.end(err)
	case "form":
		if word := p.word(); word != "2020" {
			return fmt.Errorf("form %q; want 2020", word)
		}
		p.Graph.Form2020 = true
		return p.end(nil)
	case "input":
		name, t, err := p.declaration()
		if err == nil {
			var v *Value
			if v, err = p.Graph.AddInput(name, t); err == nil {
				v.Type.Interleave = t.Interleave
			}
		}
		return p.end(err)
	case "state":
		return p.state()
	case "const":
		name, t, err := p.declaration()
		if err != nil {
			return err
		}
		c, err := p.constant(t)
		if err == nil {
			var v *Value
			if v, err = p.Graph.AddConstant(name, c); err == nil {
				v.Type.Interleave = t.Interleave
			}
		}
		return p.end(err)
	case "output":
		v, err := p.value()
		if err == nil && v == nil {
			err = fmt.Errorf("an output is not there")
		}
		p.Graph.AddOutput(v)
		return p.end(err)
	}
	return fmt.Errorf("a line begins with %q; want graph, form, input, state, const, output or a value", word)
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
	p.after = append(p.after, pending{s, after})
	if err == nil && p.accept("@") {
		s.Name, err = p.name()
	}
	return p.end(err)
}

func (p *parser) finish() error {
	for _, a := range p.after {
		if a.state.After = p.Graph.Value(a.name); a.state.After == nil {
			return fmt.Errorf("state %q leaves %q, which is not there", a.state.Name, a.name)
		}
	}
	return Verify(p.Graph)
}

// layer reads a layer line and holds the types that it declares to the rule.
func (p *parser) layer() error {
	var s Spec
	var declared []Type
	for {
		name, t, err := p.declaration()
		if err != nil {
			return err
		}
		s.Tops, declared = append(s.Tops, name), append(declared, t)
		if !p.accept(",") {
			break
		}
	}
	if err := p.expect("="); err != nil {
		return err
	}
	params, err := p.params("(")
	if err != nil {
		return err
	}
	s.Name, s.Params = s.Tops[0], params
	if err := p.bottoms(&s); err != nil {
		return err
	}
	if err := p.fields(s.Params, &s.OutputType); err != nil {
		return err
	}
	if err := p.epilogue(&s.Epilogue); err != nil {
		return err
	}
	if p.accept("@") {
		if s.Name, err = p.name(); err != nil {
			return err
		}
	}
	if p.acceptWord("from") {
		for p.rest != "" {
			o, err := p.name()
			if err != nil {
				return err
			}
			s.Origin = append(s.Origin, o)
		}
	}
	if err := p.end(nil); err != nil {
		return err
	}
	l, err := p.Graph.Add(s)
	if err != nil {
		return err
	}
	p.Lines[l.Name] = p.number
	if len(l.Tops) != len(declared) {
		return l.errorf("%d tops, the rule makes %d", len(declared), len(l.Tops))
	}
	for i, t := range declared {
		if !l.Tops[i].Type.Same(t) {
			return l.errorf("top %q is %v, the rule says %v", l.Tops[i].Name, t, l.Tops[i].Type)
		}
		l.Tops[i].Type.Interleave = t.Interleave
	}
	return nil
}

// params reads the name of a kind, up to a mark or the end of a word.
func (p *parser) params(mark string) (Params, error) {
	i := strings.IndexAny(p.rest, mark+" ")
	if i < 0 {
		i = len(p.rest)
	}
	kind, ok := KindOf(p.rest[:i])
	if !ok {
		return nil, fmt.Errorf("there is no kind %q", p.rest[:i])
	}
	p.rest = p.rest[i:]
	return NewParams(kind), nil
}

func (p *parser) bottoms(s *Spec) error {
	if err := p.expect("("); err != nil {
		return err
	}
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

// fields reads Name=value up to the epilogue or what follows it. out is nil
// where no OutputType may stand.
func (p *parser) fields(params Params, out *tensor.DType) error {
	for p.rest != "" && !strings.ContainsRune("|@", rune(p.rest[0])) && p.peekWord() != "from" {
		name, value, ok := strings.Cut(p.word(), "=")
		if !ok {
			return fmt.Errorf("%q is not a field", name)
		}
		var err error
		if name == "OutputType" && out != nil {
			*out, err = tensor.ParseDType(value)
		} else {
			err = parseParam(params, name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// declaration reads "%name type".
func (p *parser) declaration() (string, Type, error) {
	name, err := p.valueName()
	if err != nil {
		return "", Type{}, err
	}
	end := strings.IndexByte(p.rest, ']') + 1
	for end > 0 && end < len(p.rest) && p.rest[end] != ' ' && p.rest[end] != ',' {
		end++
	}
	t, err := parseType(p.rest[:end])
	p.rest = strings.TrimLeft(p.rest[end:], " ")
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
	inner, ok := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !ok || !closed {
		return nil, fmt.Errorf("%q is not a shape", s)
	}
	if inner == "" {
		return nil, nil
	}
	var shape []int
	for _, part := range strings.Split(inner, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || len(shape) > NumAxes+2 {
			return nil, fmt.Errorf("%q is not a shape", s)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// value reads "%name" or "_".
func (p *parser) value() (*Value, error) {
	if p.accept("_") {
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
		return "", fmt.Errorf("want a value, found %q", p.peekWord())
	}
	return p.name()
}

// name reads a name, quoted or plain.
func (p *parser) name() (string, error) {
	if strings.HasPrefix(p.rest, `"`) {
		q, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			return "", fmt.Errorf("a name without its closing quote: %s", p.rest)
		}
		p.rest = strings.TrimLeft(p.rest[len(q):], " ")
		return strconv.Unquote(q)
	}
	i := 0
	for i < len(p.rest) && plainRune(rune(p.rest[i])) {
		i++
	}
	if i == 0 {
		return "", fmt.Errorf("want a name, found %q", p.peekWord())
	}
	name := p.rest[:i]
	p.rest = strings.TrimLeft(p.rest[i:], " ")
	return name, nil
}

func (p *parser) peekWord() string {
	word, _, _ := strings.Cut(p.rest, " ")
	return word
}

func (p *parser) word() string {
	word, rest, _ := strings.Cut(p.rest, " ")
	p.rest = strings.TrimLeft(rest, " ")
	return word
}

// accept reads a mark if it is next.
func (p *parser) accept(mark string) bool {
	rest, ok := strings.CutPrefix(p.rest, mark)
	if ok {
		p.rest = strings.TrimLeft(rest, " ")
	}
	return ok
}

func (p *parser) acceptWord(word string) bool {
	if p.peekWord() != word {
		return false
	}
	p.word()
	return true
}

func (p *parser) expect(mark string) error {
	if !p.accept(mark) {
		return fmt.Errorf("want %q, found %q", mark, p.peekWord())
	}
	return nil
}

// end passes an error on, or complains of what is left of the line.
func (p *parser) end(err error) error {
	if err == nil && p.rest != "" {
		return fmt.Errorf("%q is left over", p.rest)
	}
	return err
}
