package mil

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNesting bounds how deep types, literals and blocks may nest: far above any real program, far below
// what would exhaust the stack.
const maxNesting = 200

// byteOrderMark is what some editors put in front of a text.
const byteOrderMark = "\ufeff"

// ParseText reads a program in MIL's text form, in any of its dialects. name is the file's name, for
// messages; files opens its weight files and may be nil. The error is a *SyntaxError.
//
//	program(1.3)
//	[buildInfo = dict<string, string>({{"coremltools-version", "9.0"}})]
//	{
//	    func main<ios18>(tensor<fp16, [1, 4]> x) {
//	            fp16 two = const()[name = string("two"), val = fp16(0x1p+1)];
//	            tensor<fp16, [1, 4]> y = mul(x = x, y = two)[name = string("y")];
//	        } -> (y);
//	}
//
// The dialects differ in how they write a scalar: program(1.3) as fp16(0x1p+1), earlier ones as
// tensor<fp16, []>(0x1p+1). Files mix them, so both are read everywhere.
func ParseText(name string, src []byte, files Files) (*Program, error) {
	p := &parser{
		scanner: scanner{src: bytes.TrimPrefix(src, []byte(byteOrderMark)), file: name, line: 1},
		files:   files,
		names:   map[string]string{},
	}
	p.tok, p.ahead = p.scan(), p.scan()
	prog := p.program()
	if p.err != nil {
		return nil, p.err
	}
	return prog, nil
}

// parser reads a program by recursive descent with one token of lookahead. After the first error every token
// is tokEOF and every loop ends; what the functions return then is never looked at.
type parser struct {
	scanner
	files      Files
	tok, ahead token
	depth      int
	scope      *scope
	op         *Operation        // the one that is being read, for messages; nil outside
	names      map[string]string // one string for all uses of a name
}

// scope is the values that a block and the ones around it define.
type scope struct {
	outer  *scope
	values map[string]definition
}

type definition struct {
	value *Value
	line  int
}

func (s *scope) find(name string) (definition, bool) {
	for ; s != nil; s = s.outer {
		if d, ok := s.values[name]; ok {
			return d, true
		}
	}
	return definition{}, false
}

func (p *parser) advance() {
	p.tok = p.ahead
	p.ahead = p.scan()
	if p.err != nil {
		p.stop()
	}
}

// stop ends the text here: after an error.
func (p *parser) stop() {
	p.tok.kind, p.ahead.kind = tokEOF, tokEOF
	p.pos = len(p.src)
}

func (p *parser) fail(t token, format string, args ...any) {
	p.failAt(t.line, t.column, format, args...)
	p.stop()
}

// expected reports that the current token is not what it should be.
func (p *parser) expected(what string) {
	p.fail(p.tok, "expected %s, found %s", what, p.describe(p.tok))
}

func (p *parser) describe(t token) string {
	text := p.src[t.start:t.end]
	const most = 40
	long := len(text) > most
	if long {
		text = text[:most]
	}
	switch {
	case t.kind == tokEOF:
		return "the end of the text"
	case t.kind == tokString && !long:
		return "the string " + strconv.Quote(string(trimQuotes(text)))
	case long:
		return strconv.Quote(string(text)) + "…"
	}
	return strconv.Quote(string(text))
}

func (p *parser) text(t token) []byte { return p.src[t.start:t.end] }

// is reports whether the current token is a punctuation mark.
func (p *parser) is(c tokenKind) bool { return p.tok.kind == c }

// isWord reports whether the current token is a certain word.
func (p *parser) isWord(word string) bool {
	return p.tok.kind == tokName && string(p.text(p.tok)) == word
}

// accept skips a punctuation mark if it is there.
func (p *parser) accept(c tokenKind) bool {
	if p.tok.kind != c {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(c tokenKind, where string) {
	if !p.accept(c) {
		mark := map[tokenKind]string{tokArrow: "->"}[c]
		if mark == "" {
			mark = string(rune(c))
		}
		p.expected(fmt.Sprintf("%q %s", mark, where))
	}
}

// word skips a certain word.
func (p *parser) word(word string) {
	if !p.isWord(word) {
		p.expected(strconv.Quote(word))
		return
	}
	p.advance()
}

// name reads a name, bare or in quotes.
func (p *parser) name(what string) string {
	switch {
	case p.tok.kind == tokName:
		name := p.intern(p.text(p.tok))
		p.advance()
		return name
	case p.tok.kind == tokString && p.tok.end-p.tok.start > 2:
		name := p.intern([]byte(p.unquote(p.tok)))
		p.advance()
		return name
	}
	p.expected(what)
	return ""
}

func (p *parser) intern(b []byte) string {
	if s, ok := p.names[string(b)]; ok {
		return s
	}
	s := string(b)
	p.names[s] = s
	return s
}

// nest counts a level of nesting; unnest undoes it.
func (p *parser) nest() {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.tok, "nested more than %d levels deep", maxNesting)
	}
}

func (p *parser) unnest() { p.depth-- }

// commaList calls item for each item up to the closing mark, which it skips.
func (p *parser) commaList(end tokenKind, where string, item func()) {
	for first := true; !p.accept(end); first = false {
		if !first {
			if !p.is(',') {
				p.expected(fmt.Sprintf("%q or %q %s", ",", string(rune(end)), where))
				return
			}
			p.advance()
		}
		item()
		if p.err != nil {
			return
		}
	}
}

func (p *parser) program() *Program {
	p.word("program")
	p.expect('(', "after program")
	version := string(p.text(p.tok))
	if p.tok.kind != tokNumber || !isVersion(version) {
		p.expected("the version of the program, such as 1.3")
	}
	p.advance()
	p.expect(')', "after the version of the program")
	prog := &Program{Version: version}
	prog.Attributes = p.attributes()
	p.expect('{', "before the functions")
	var names nameSet
	for p.isWord("func") {
		at := p.ahead
		f := p.function()
		if p.err == nil && !names.add(f.Name) {
			p.fail(at, "function %q is defined twice", f.Name)
		}
		prog.Functions = append(prog.Functions, f)
	}
	if !p.is('}') {
		p.expected(`"func", or "}" after the last function`)
	}
	p.advance()
	p.accept(';')
	if p.err == nil && p.tok.kind != tokEOF {
		p.expected("the end of the text after the program")
	}
	return prog
}

// isVersion accepts decimal numbers separated by points.
func isVersion(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}

func (p *parser) function() *Function {
	p.word("func")
	f := &Function{Name: p.name("the name of a function")}
	p.expect('<', "before the opset of function "+f.Name)
	f.Opset = p.name("an opset such as ios18")
	p.expect('>', "after the opset")
	p.scope = &scope{values: map[string]definition{}}
	f.Inputs = p.inputs("of a function")
	f.Attributes = p.attributes()
	f.Body = &Block{}
	p.body(f.Body)
	p.accept(';')
	p.scope = nil
	return f
}

// inputs reads "(type name, …)" and puts the values in scope.
func (p *parser) inputs(of string) []*Value {
	p.expect('(', "before the inputs "+of)
	var vals []*Value
	p.commaList(')', "after an input "+of, func() {
		v, at := p.typedName(nil)
		p.declare(v, at)
		vals = append(vals, v)
	})
	return vals
}

// typedName reads "type name", and says where the name is.
func (p *parser) typedName(op *Operation) (*Value, token) {
	t := p.typ()
	at := p.tok
	return &Value{Name: p.name("the name of a value"), Type: t, Def: op}, at
}

// declare puts a value in scope. No two values that a block sees have the same name.
func (p *parser) declare(v *Value, at token) {
	if p.err != nil {
		return
	}
	if d, ok := p.scope.find(v.Name); ok {
		by := ""
		if v.Def != nil {
			by = " by operation " + v.Def.Kind
		}
		p.fail(at, "value %q is defined a second time%s: line %d defines it", v.Name, by, d.line)
		return
	}
	p.scope.values[v.Name] = definition{v, at.line}
}

// body reads "{ operations } -> (outputs)". Attributes of the block itself stand before the first
// operation; no real file that has any is known.
func (p *parser) body(b *Block) {
	p.nest()
	defer p.unnest()
	p.expect('{', "before the operations of a block")
	b.Attributes = p.attributes()
	for !p.accept('}') {
		if p.tok.kind == tokEOF {
			p.expected(`an operation, or "}" after the last one`)
			return
		}
		b.Operations = append(b.Operations, p.operation())
	}
	if p.accept(tokArrow) {
		p.op = nil
		p.expect('(', "before the outputs of a block")
		p.commaList(')', "after an output of a block", func() {
			b.Outputs = append(b.Outputs, p.use(""))
		})
	}
}

// use reads the name of a value that must be in scope: for a parameter, or as the output of a block.
func (p *parser) use(param string) *Value {
	at := p.tok
	name := p.name("the name of a value")
	if p.err != nil {
		return nil
	}
	d, ok := p.scope.find(name)
	if !ok {
		by := "the output of a block"
		if p.op != nil {
			by = "parameter " + param + " of operation " + describe(p.op)
		}
		if line := p.definedLater(name); line > 0 {
			p.fail(at, "value %q is used before it is defined: %s uses it here, line %d defines it", name, by, line)
		} else {
			p.fail(at, "value %q is not defined: %s uses it", name, by)
		}
	}
	return d.value
}

// definedLater looks for a definition of a value in the rest of the text, for the sake of the message: a
// name that stands right after a type.
func (p *parser) definedLater(name string) (line int) {
	rest := p.scanner
	prev := p.tok
	for t := p.ahead; t.kind != tokEOF; t = rest.scan() {
		if (t.kind == tokName || t.kind == tokString) && string(trimQuotes(p.text(t))) == name &&
			(prev.kind == '>' || prev.kind == tokName) {
			return t.line
		}
		prev = t
	}
	return 0
}

func trimQuotes(b []byte) []byte {
	if len(b) > 1 && b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// operation reads a statement:
//
//	type out, type out = kind(param = argument, …)[attribute = constant, …];
//	write_state(data = d, input = s)[name = …];
func (p *parser) operation() *Operation {
	op := &Operation{Pos: Pos{Line: p.tok.line, Column: p.tok.column}}
	var at []token // where the outputs are
	output := func() {
		v, name := p.typedName(op)
		op.Outputs, at = append(op.Outputs, v), append(at, name)
	}
	switch {
	case p.accept('('): // outputs in parentheses
		p.commaList(')', "after an output", output)
		p.expect('=', "after the outputs of an operation")
	case p.ahead.kind != '(': // else an operation without outputs
		output()
		for p.accept(',') {
			output()
		}
		p.expect('=', "after the outputs of an operation")
	}
	op.Kind = p.name("an operation")
	p.op = op
	p.arguments(op)
	p.blocks(op)
	op.Attributes = p.attributes()
	p.blocks(op)
	p.expect(';', "after an operation")
	if p.err != nil {
		return op
	}
	for i, v := range op.Outputs { // only now: an operation cannot use its own outputs
		p.declare(v, at[i])
	}
	return op
}

func (p *parser) arguments(op *Operation) {
	p.expect('(', "before the arguments of an operation")
	var params nameSet
	p.commaList(')', "after an argument", func() {
		at := p.tok
		in := Input{Param: p.name("a parameter")}
		if p.err == nil && !params.add(in.Param) {
			p.fail(at, "parameter %q of operation %s is given twice", in.Param, describe(op))
		}
		p.expect('=', "after a parameter")
		if p.accept('(') {
			p.commaList(')', "after an argument", func() {
				in.Args = append(in.Args, p.argument(in.Param))
			})
		} else {
			in.Args = append(in.Args, p.argument(in.Param))
		}
		op.Inputs = append(op.Inputs, in)
	})
}

// argument reads the name of a value, or a constant, which begins with its type.
func (p *parser) argument(param string) Arg {
	switch {
	case p.tok.kind == tokName && (p.ahead.kind == '<' || p.ahead.kind == '('):
		return Arg{Const: p.constant()}
	case p.tok.kind == tokName, p.tok.kind == tokString:
		return Arg{Value: p.use(param)}
	}
	p.expected("a value or a typed constant for parameter " + param)
	return Arg{}
}

// blocks reads the nested blocks of cond and while_loop:
//
//	int32 n = while_loop(loop_vars = n0)[name = string("n")]
//	    (int32 i) {
//	        …
//	    } -> (more)
//	    (int32 i) {
//	        …
//	    } -> (next);
//
// No real text with nested blocks could be found: the form follows the one of functions. They are read
// before and after the attributes of the operation, with or without names of their own and commas between
// them; the inputs may be missing.
func (p *parser) blocks(op *Operation) {
	for p.err == nil && (p.is('(') || p.is('{') || p.tok.kind == tokName) {
		outer := p.scope
		p.scope = &scope{outer: outer, values: map[string]definition{}}
		b := &Block{}
		if p.tok.kind == tokName {
			p.advance()
		}
		if p.is('(') {
			b.Inputs = p.inputs("of a block")
		}
		p.body(b)
		p.scope = outer
		op.Blocks = append(op.Blocks, b)
		if p.is(',') {
			p.advance()
		}
	}
}

// attributes reads "[name = constant, …]" if it is there.
func (p *parser) attributes() Attributes {
	if !p.accept('[') {
		return nil
	}
	var attrs Attributes
	var names nameSet
	p.commaList(']', "after an attribute", func() {
		at := p.tok
		name := p.name("the name of an attribute")
		if p.err == nil && !names.add(name) {
			p.fail(at, "attribute %q is given twice", name)
		}
		p.expect('=', "after the name of an attribute")
		attrs = append(attrs, Attribute{name, p.constant()})
	})
	slices.SortFunc(attrs, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return attrs
}

// nameSet finds duplicates: in a list while there are few names, as nearly always, else in a map.
type nameSet struct {
	few  []string
	many map[string]bool
}

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	if s.many == nil {
		if slices.Contains(s.few, name) {
			return false
		}
		if s.few = append(s.few, name); len(s.few) > 16 {
			s.many = map[string]bool{}
			for _, n := range s.few {
				s.many[n] = true
			}
		}
		return true
	}
	if s.many[name] {
		return false
	}
	s.many[name] = true
	return true
}
