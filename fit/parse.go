package fit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A SyntaxError is what is wrong with an expression, and where.
type SyntaxError struct {
	Column int // in characters, from 1 on
	Text   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

// Parse reads a function of x:
//
//	numbers   2, 0.5, 1e-3; pi and e
//	x
//	a + b, a - b, a * b, a / b, -a, (a)
//	a ^ b     a to the power of b; -x^2 is -(x^2), 2^3^2 is 2^(3^2)
//	f(a), f(a, b)
//
// The functions are those of Functions. Errors are of type *SyntaxError.
func Parse(text string) (func(x float64) float64, error) {
	p := &parser{text: text}
	p.next()
	f := p.sum()
	if p.err == nil && p.token != "" {
		p.fail("expected an operator, or the end, and not %q", p.token)
	}
	if p.err != nil {
		return nil, p.err
	}
	return f, nil
}

// Functions lists the functions that Parse knows, in order.
func Functions() []string {
	return slices.Sorted(maps.Keys(functions))
}

// A function takes as many arguments as it has parameters.
type function struct {
	one func(a float64) float64
	two func(a, b float64) float64
}

var functions = map[string]function{
	"abs":      {one: math.Abs},
	"acos":     {one: math.Acos},
	"asin":     {one: math.Asin},
	"atan":     {one: math.Atan},
	"ceil":     {one: math.Ceil},
	"cos":      {one: math.Cos},
	"cosh":     {one: math.Cosh},
	"erf":      {one: math.Erf},
	"exp":      {one: math.Exp},
	"exp2":     {one: math.Exp2},
	"floor":    {one: math.Floor},
	"gauss":    {one: func(a float64) float64 { return math.Exp(-a * a) }},
	"gelu":     {one: func(a float64) float64 { return a / 2 * (1 + math.Erf(a/math.Sqrt2)) }},
	"log":      {one: math.Log},
	"log10":    {one: math.Log10},
	"log2":     {one: math.Log2},
	"max":      {two: math.Max},
	"min":      {two: math.Min},
	"pow":      {two: math.Pow},
	"relu":     {one: func(a float64) float64 { return max(a, 0) }},
	"sigmoid":  {one: sigmoid},
	"sign":     {one: sign},
	"silu":     {one: func(a float64) float64 { return a * sigmoid(a) }},
	"sin":      {one: math.Sin},
	"sinh":     {one: math.Sinh},
	"softplus": {one: func(a float64) float64 { return max(a, 0) + math.Log1p(math.Exp(-math.Abs(a))) }},
	"sqrt":     {one: math.Sqrt},
	"tan":      {one: math.Tan},
	"tanh":     {one: math.Tanh},
}

func sigmoid(a float64) float64 { return 1 / (1 + math.Exp(-a)) }

func sign(a float64) float64 {
	if a == 0 || a != a {
		return a
	}
	return math.Copysign(1, a)
}

var constants = map[string]float64{"pi": math.Pi, "e": math.E}

// maxDepth bounds how deep an expression is nested, and with it the stack.
const maxDepth = 1000

// A parser reads by descent: sum, product, sign, power, operand. After an error it
// reads nothing more.
type parser struct {
	text  string
	at    int    // behind the token
	token string // "" at the end
	depth int
	err   *SyntaxError
}

// A node is a part of an expression.
type node = func(x float64) float64

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		column := utf8.RuneCountInString(p.text[:p.at-len(p.token)]) + 1
		p.err = &SyntaxError{column, fmt.Sprintf(format, args...)}
	}
	p.token, p.at = "", len(p.text)
}

// next reads a token: a number, a name, or one character.
func (p *parser) next() {
	rest := strings.TrimLeft(p.text[p.at:], " \t\r\n")
	p.at = len(p.text) - len(rest)
	n := 0
	switch {
	case rest == "":
	case digit(rest[0]) || rest[0] == '.':
		n = numberLength(rest)
	case letter(rest[0]):
		for n < len(rest) && (letter(rest[n]) || digit(rest[n])) {
			n++
		}
	default:
		_, n = utf8.DecodeRuneInString(rest)
	}
	p.token = rest[:n]
	p.at += n
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// numberLength is how long the number is that a text begins with: digits and
// points, and an exponent if digits follow it, so that 2e is 2 and the number e.
func numberLength(s string) int {
	n := 0
	for n < len(s) && (digit(s[n]) || s[n] == '.') {
		n++
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		for m < len(s) && digit(s[m]) {
			m++
			n = m
		}
	}
	return n
}

// take reads the token if it is one of these.
func (p *parser) take(tokens ...string) string {
	if !slices.Contains(tokens, p.token) {
		return ""
	}
	token := p.token
	p.next()
	return token
}

// expect reads a token that must be there.
func (p *parser) expect(token string) {
	if p.err == nil && p.take(token) == "" {
		p.fail("expected %q, and not %s", token, p.found())
	}
}

func (p *parser) found() string {
	if p.token == "" {
		return "the end"
	}
	return strconv.Quote(p.token)
}

func (p *parser) sum() node {
	if p.depth++; p.depth > maxDepth {
		p.fail("it is nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	a := p.product()
	for {
		switch l := a; p.take("+", "-") {
		case "+":
			b := p.product()
			a = func(x float64) float64 { return l(x) + b(x) }
		case "-":
			b := p.product()
			a = func(x float64) float64 { return l(x) - b(x) }
		default:
			return a
		}
	}
}

func (p *parser) product() node {
	a := p.signed()
	for {
		switch l := a; p.take("*", "/") {
		case "*":
			b := p.signed()
			a = func(x float64) float64 { return l(x) * b(x) }
		case "/":
			b := p.signed()
			a = func(x float64) float64 { return l(x) / b(x) }
		default:
			return a
		}
	}
}

func (p *parser) signed() node {
	if p.depth++; p.depth > maxDepth {
		p.fail("it is nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.take("-", "+") {
	case "-":
		a := p.signed()
		return func(x float64) float64 { return -a(x) }
	case "+":
		return p.signed()
	}
	a := p.operand()
	if p.take("^") == "" {
		return a
	}
	b := p.signed() // so that powers of powers, and negative ones, are read first
	return func(x float64) float64 { return math.Pow(a(x), b(x)) }
}

func (p *parser) operand() node {
	token := p.token
	switch {
	case p.err != nil:
		return nil
	case token == "":
		p.fail("expected a number, x, a function or \"(\", and not the end")
		return nil
	case token == "(":
		p.next()
		a := p.sum()
		p.expect(")")
		return a
	case digit(token[0]) || token[0] == '.':
		v, err := strconv.ParseFloat(token, 64)
		if err != nil {
			p.fail("%q is no number", token)
		}
		p.next()
		return func(float64) float64 { return v }
	case token == "x":
		p.next()
		return func(x float64) float64 { return x }
	}
	if v, ok := constants[token]; ok {
		p.next()
		return func(float64) float64 { return v }
	}
	f, ok := functions[token]
	if !ok {
		if !letter(token[0]) {
			p.fail("expected a number, x, a function or \"(\", and not %q", token)
		} else {
			p.fail("there is no %q: the argument is x, the numbers are pi and e, the functions %s", token, strings.Join(Functions(), ", "))
		}
		return nil
	}
	p.next()
	return p.call(token, f)
}

// call reads the arguments of a function.
func (p *parser) call(name string, f function) node {
	p.expect("(")
	a := p.sum()
	if f.one != nil {
		if p.token == "," {
			p.fail("%s takes one argument", name)
		}
		p.expect(")")
		return func(x float64) float64 { return f.one(a(x)) }
	}
	if p.token == ")" {
		p.fail("%s takes two arguments", name)
	}
	p.expect(",")
	b := p.sum()
	p.expect(")")
	return func(x float64) float64 { return f.two(a(x), b(x)) }
}
