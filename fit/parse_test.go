package fit

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]func(x float64) float64{
		"x":                      func(x float64) float64 { return x },
		"1 + 2*x":                func(x float64) float64 { return 1 + 2*x },
		"-x^2":                   func(x float64) float64 { return -(x * x) },
		"2^3^2":                  func(float64) float64 { return 512 },
		"2^-x":                   func(x float64) float64 { return math.Exp2(-x) },
		"6/3/2":                  func(float64) float64 { return 1 },
		"5-3-1":                  func(float64) float64 { return 1 },
		"--x":                    func(x float64) float64 { return x },
		"exp(-x^2)":              func(x float64) float64 { return math.Exp(-x * x) },
		"gauss(x)":               func(x float64) float64 { return math.Exp(-x * x) },
		"min(max(x, -1), .5)":    func(x float64) float64 { return min(max(x, -1), 0.5) },
		"x*(1+erf(x/sqrt(2)))/2": func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
		" sin( pi * x ) + e ":    func(x float64) float64 { return math.Sin(math.Pi*x) + math.E },
		"1e-3*x+2E2":             func(x float64) float64 { return 1e-3*x + 200 },
		"softplus(x)":            func(x float64) float64 { return math.Log(1 + math.Exp(x)) },
		"silu(x) - x*sigmoid(x)": func(x float64) float64 { return 0 },
		"relu(x)+sign(x)*abs(x)": func(x float64) float64 { return max(x, 0) + x },
		"exp2(log2(pow(x,2)))":   func(x float64) float64 { return x * x },
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, x := range []float64{-2.5, -1, 0.25, 1, 3} {
			if got, want := f(x), want(x); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s at %v: %v, want %v", text, x, got, want)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"", 1, "not the end"},
		{"2x", 2, `expected an operator, or the end, and not "x"`},
		{"2e", 2, `not "e"`},
		{"x + ", 5, "not the end"},
		{"x + foo(x)", 5, `there is no "foo": the argument is x`},
		{"y", 1, `there is no "y"`},
		{"(x + 1", 7, `expected ")", and not the end`},
		{"x)", 2, `not ")"`},
		{"exp x", 5, `expected "(", and not "x"`},
		{"exp(x, 1)", 6, "exp takes one argument"},
		{"min(x)", 6, "min takes two arguments"},
		{"min(x 1)", 7, `expected ",", and not "1"`},
		{"1.2.3", 1, `"1.2.3" is no number`},
		{"x ** 2", 4, `not "*"`},
		{"π·x", 1, `not "π"`},
		{"x + π", 5, `not "π"`},
		{"x + 1 · 2", 7, `not "·"`},
		{strings.Repeat("(", 5000), 500, "deeper"},
		{strings.Repeat("-", 5000), 1000, "deeper"},
		{strings.Repeat("2^", 5000) + "x", 1000, "deeper"},
	} {
		_, err := Parse(c.text)
		syntax, ok := errors.AsType[*SyntaxError](err)
		if !ok || syntax.Column != c.column && !strings.Contains(c.want, "deeper") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want column %d: %s", c.text, err, c.column, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"exp(-x^2)", "min(x,1)/2e3", "((x", "-x^-x^2", "π"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil {
			if s, ok := errors.AsType[*SyntaxError](err); !ok || s.Column < 1 || s.Column > len(text)+1 {
				t.Errorf("%v", err)
			}
			return
		}
		g(0.5)
	})
}
