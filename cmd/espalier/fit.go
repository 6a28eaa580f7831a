package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/fit"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/netplist"
	"github.com/espalier-ane/espalier/tensor"
)

type fitCmd struct {
	Expression string `arg:"" optional:"" help:"A function of x, as in 'exp(-x^2)' or 'x*sigmoid(1.7*x)'. docs/fit.md has the language."`

	Knots  string `placeholder:"F" help:"A file with the function's values, at even distances over the domain, instead of an expression. - is standard input."`
	Domain string `required:"" placeholder:"A,B" help:"From where to where to fit, as in --domain=-4,4 or --domain=-pi,pi."`
	Beyond string `default:"hold" placeholder:"E[,E]" help:"What comes beyond the domain, on both sides or left and right: hold (the value at the end) or line (the last line goes on). Default: hold."`
	SVG    string `name:"svg" placeholder:"F" help:"Draw function, fit and error into a file. An earlier picture of this command is replaced, nothing else is."`
	Output string `short:"o" placeholder:"DIR" help:"Write the fit as a network description, a folder with net.plist: the procedure table, for target virtual, and rectifiers, for chips. An earlier one is replaced, nothing else is."`
	Shape  string `default:"1,1,64" placeholder:"C,H,W" help:"With -o: the channels, rows and columns of its input. Default: 1,1,64."`
	JSON   bool   `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

func (c *fitCmd) Run(call *invocation) error {
	domain, err := parseDomain(c.Domain)
	if err != nil {
		return err
	}
	options, err := parseBeyond(c.Beyond)
	if err != nil {
		return err
	}
	name, function, err := c.function(call, domain)
	if err != nil {
		return err
	}
	shape, err := c.shape()
	if err != nil {
		return err
	}
	if err := c.checkPicture(); err != nil {
		return err
	}
	if c.Output != "" {
		if err := cmp.Or(checkFolder(c.Output), graphfile.CheckFolder(c.Output)); err != nil {
			return err
		}
	}
	r, err := fit.Table(function, domain, options)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	basis, noBasis := r.Basis() // the table is there without
	if c.SVG != "" {
		if err := osfile.WriteAtomic(c.SVG, r.SVG); err != nil {
			return err
		}
	}
	if c.Output != "" {
		if err := c.writeList(r, basis, shape); err != nil {
			return err
		}
	}
	f := newFitReport(name, r, basis, noBasis)
	if c.JSON {
		return report.WriteJSON(call.stdout, f)
	}
	return f.writeText(call.stdout)
}

// shape reads --shape.
func (c *fitCmd) shape() (shape [3]int, err error) {
	parts := strings.Split(c.Shape, ",")
	for i := range shape {
		if len(parts) == len(shape) {
			shape[i], err = strconv.Atoi(parts[i])
		}
		if err != nil || shape[i] < 1 {
			return shape, usagef("--shape %s: expected channels, rows and columns, as in 8,16,16", c.Shape)
		}
	}
	return shape, nil
}

// writeList writes the network description.
func (c *fitCmd) writeList(r *fit.Result, basis *fit.Basis, shape [3]int) error {
	graphs, err := fit.Graphs(r, basis, shape[0], shape[1], shape[2])
	if err != nil {
		return err
	}
	list, weights, _, err := netplist.FromGraphs(graphs)
	if err != nil {
		return err
	}
	return graphfile.WriteFolder(c.Output, list, weights)
}

// parseDomain reads two numbers, which may be expressions.
func parseDomain(text string) (d fit.Domain, err error) {
	parts := strings.Split(text, ",")
	if len(parts) != 2 {
		return d, usagef("--domain %s: expected two numbers, as in --domain=-4,4", text)
	}
	for i, to := range []*float64{&d.Min, &d.Max} {
		f, err := fit.Parse(parts[i])
		if err != nil {
			return d, usagef("--domain %s: %q: %w", text, parts[i], err)
		}
		if *to = f(math.NaN()); math.IsNaN(*to) {
			return d, usagef("--domain %s: %q is no number", text, parts[i])
		}
	}
	return d, nil
}

func parseBeyond(text string) (o fit.Options, err error) {
	left, right, two := strings.Cut(text, ",")
	if !two {
		right = left
	}
	for _, side := range []struct {
		word string
		to   *fit.End
	}{{left, &o.Left}, {right, &o.Right}} {
		switch side.word {
		case fit.Hold.String():
			*side.to = fit.Hold
		case fit.Line.String():
			*side.to = fit.Line
		default:
			return o, usagef("--beyond %s: expected hold or line, or two of them, as in hold,line", text)
		}
	}
	return o, nil
}

// function is what to fit, and how to call it.
func (c *fitCmd) function(call *invocation, d fit.Domain) (name string, f func(float64) float64, err error) {
	switch {
	case c.Expression != "" && c.Knots != "":
		return "", nil, usagef("an expression and --knots: expected one of them")
	case c.Expression != "":
		if f, err = fit.Parse(c.Expression); err != nil {
			return "", nil, usagef("%s: %w", c.Expression, err)
		}
		return c.Expression, f, nil
	case c.Knots != "":
		values, err := c.values(call)
		if err != nil {
			return "", nil, err
		}
		return shown(c.Knots), fit.Through(values, d), nil
	}
	return "", nil, usagef("expected an expression, as in 'exp(-x^2)', or --knots")
}

// maxKnotsFile bounds what is read of a file of values, in bytes.
const maxKnotsFile = 1 << 20

// values reads a file of numbers with spaces, commas or lines between them.
func (c *fitCmd) values(call *invocation) ([]float64, error) {
	file, err := call.open(c.Knots)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKnotsFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKnotsFile {
		return nil, fmt.Errorf("%s: it has more than %d bytes", shown(c.Knots), maxKnotsFile)
	}
	var values []float64
	for i, word := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) }) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: value %d is %q, expected a number", shown(c.Knots), i+1, report.Printable(word))
		}
		values = append(values, v)
	}
	if len(values) < 2 {
		return nil, fmt.Errorf("%s: expected two values or more, found %d", shown(c.Knots), len(values))
	}
	return values, nil
}

// checkPicture refuses to replace what is not ours.
func (c *fitCmd) checkPicture() error {
	if c.SVG == "" {
		return nil
	}
	file, err := os.Open(c.SVG)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, len(fit.SVGHead))
	if n, _ := io.ReadFull(file, head); string(head[:n]) != fit.SVGHead {
		return fmt.Errorf("%s exists and is no picture of this command: it is not replaced", c.SVG)
	}
	return nil
}

// fitReport is what fit --json prints.
type fitReport struct {
	Function string     `json:"function"`
	Domain   fit.Domain `json:"domain"`
	Left     string     `json:"left"`
	Right    string     `json:"right"`
	Scale    float64    `json:"scale"`
	Offset   float64    `json:"offset"`
	Knots    []fitKnot  `json:"knots"`
	Table    []uint16   `json:"table"`
	Fitted   fit.Error  `json:"fitted"`
	Rounded  fit.Error  `json:"rounded"`
	Basis    *fitBasis  `json:"basis,omitempty"`
	NoBasis  string     `json:"no_basis,omitempty"`
}

type fitKnot struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Bits string  `json:"bits"`
}

type fitBasis struct {
	Weights []float64 `json:"weights"`
	Biases  []float64 `json:"biases"`
	Out     []float64 `json:"out"`
	Bias    float64   `json:"bias"`
	Error   fit.Error `json:"error"`
	Differs int       `json:"differs"`
	Most    float64   `json:"most"`
}

func newFitReport(name string, r *fit.Result, b *fit.Basis, noBasis error) *fitReport {
	f := &fitReport{
		Function: name, Domain: r.Domain, Left: r.Options.Left.String(), Right: r.Options.Right.String(),
		Scale: r.Scale, Offset: r.Offset, Fitted: r.Fitted, Rounded: r.Rounded, Table: r.Halfwords(),
	}
	for i, bits := range r.Table.Knots {
		f.Knots = append(f.Knots, fitKnot{r.X(i), float64(tensor.F16(bits)), fmt.Sprintf("0x%04x", bits)})
	}
	if noBasis != nil {
		f.NoBasis = noBasis.Error()
		return f
	}
	f.Basis = &fitBasis{b.Weights, b.Biases, b.Out, b.Bias, b.Error, b.Differs, b.Most}
	return f
}

func (f *fitReport) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from %s to %s, then %s\n", report.Printable(f.Function), report.Short(f.Domain.Min), report.Short(f.Domain.Max), f.beyond())
	fmt.Fprintf(&b, "33 knots, %s apart", report.Short(f.Knots[1].X-f.Knots[0].X))
	if f.Scale != 1 || f.Offset != 0 {
		fmt.Fprintf(&b, "; the table is of %s*x + %s, which is a layer before it", report.Short(f.Scale), report.Short(f.Offset))
	}
	b.WriteString("\n\n")
	row := func(what string, e fit.Error) []string {
		return []string{what, report.Short(e.Max), report.Short(e.At), report.Short(e.RMS)}
	}
	rows := [][]string{{"error", "greatest", "at", "rms"}, row("fit, before rounding", f.Fitted), row("table, for virtual", f.Rounded)}
	if f.Basis != nil {
		rows = append(rows, row(fmt.Sprintf("%d rectifiers, for chips", len(f.Basis.Out)), f.Basis.Error))
	}
	report.Columns(&b, "", rows)
	const finite = 63488 // fp16 numbers
	switch {
	case f.Basis == nil:
		fmt.Fprintf(&b, "no rectifiers: %s\n", f.NoBasis)
	case f.Basis.Differs == 0:
		b.WriteString("table and rectifiers give the same for every fp16 number\n")
	default:
		fmt.Fprintf(&b, "table and rectifiers differ at %s of %s fp16 numbers, by %s at most\n",
			report.Thousands(f.Basis.Differs), report.Thousands(finite), report.Short(f.Basis.Most))
	}
	b.WriteString("\n")
	rows = [][]string{{"x", "knot", "bits"}}
	for _, k := range f.Knots {
		rows = append(rows, []string{report.Short(k.X), report.Short(k.Y), k.Bits})
	}
	report.Columns(&b, "", rows)
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *fitReport) beyond() string {
	if f.Left == f.Right {
		return f.Left
	}
	return f.Left + " on the left, " + f.Right + " on the right"
}
