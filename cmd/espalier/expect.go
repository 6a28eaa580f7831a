package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/tensor"
)

// defaultTolerance lets a network in fp16 differ from a reference in fp32 by its rounding, and hardly by
// anything else: fp16 keeps 3 digits, of which a deep network loses one.
const defaultTolerance = 0.01

// expectFlags are the flags that say what the outputs should be.
type expectFlags struct {
	Expect    []string `sep:"none" placeholder:"FILE" help:"Compare the outputs with those of an npz archive or a JSON object (- is standard input), one for each --inputs. If they differ, exit with 3 and write nothing."`
	ExpectAll bool     `help:"Fail also if a file of --expect lacks an output."`
	Tolerance []string `sep:"none" placeholder:"R" help:"How far floats may be off, in units of the root mean square (rms) of the expected array; NAME=R is for one output. Integers, booleans and labels must be equal. Default: 0.01."`
}

// reference is what a case should give.
type reference struct {
	arrays     []tensor.Named
	tolerances map[string]float64 // by output; "" has that of all others
	all        bool               // it must have every output
}

// comparison is that of an output with its reference.
type comparison struct {
	output    string
	got, want *tensor.Tensor // nil if there is none
	tolerance float64
	tensor.Comparison
}

// references reads what the cases should give.
func (c *expectFlags) references(call *invocation, f *espalier.Function, cases int) ([]reference, error) {
	if len(c.Expect) == 0 {
		if len(c.Tolerance) > 0 {
			return nil, usagef("--tolerance is for --expect, which is not given")
		}
		if c.ExpectAll {
			return nil, usagef("--expect-all is for --expect, which is not given")
		}
		return nil, nil
	}
	if len(c.Expect) != cases {
		return nil, usagef("%d --expect for %s: each --inputs takes one", len(c.Expect), report.Count(cases, "case"))
	}
	tolerances, err := c.tolerances(f)
	if err != nil {
		return nil, err
	}
	refs := make([]reference, cases)
	for i, path := range c.Expect {
		content, err := call.readInputFile(path)
		if err != nil {
			return nil, err
		}
		if content.arrays == nil {
			return nil, fmt.Errorf("%s: expected an npz archive or a JSON object, which have arrays by name", shown(path))
		}
		refs[i] = reference{content.arrays, tolerances, c.ExpectAll}
	}
	return refs, nil
}

func (c *expectFlags) tolerances(f *espalier.Function) (map[string]float64, error) {
	all := map[string]float64{}
	for _, flag := range c.Tolerance {
		name, text, named := strings.Cut(flag, "=")
		if !named {
			name, text = "", flag
		} else if !slices.ContainsFunc(f.Outputs(), func(d coreml.Feature) bool { return d.Name == name }) {
			return nil, usagef("--tolerance %s: the model has no output %q: expected %s", flag, name, nameList(f.Outputs()))
		}
		r, err := strconv.ParseFloat(text, 64)
		if err != nil || !(r >= 0) || math.IsInf(r, 0) {
			return nil, usagef("--tolerance %s: expected a number from 0 on", flag)
		}
		if _, twice := all[name]; twice {
			return nil, usagef("--tolerance %s: another --tolerance is for the same outputs", flag)
		}
		all[name] = r
	}
	if _, given := all[""]; !given {
		all[""] = defaultTolerance
	}
	return all, nil
}

// compare holds the outputs against the reference: first those that the reference has, in the order of the
// model, then what it lacks or has in excess.
func (r reference) compare(outputs []*espalier.Value) []comparison {
	var checks, extra []comparison
	seen := map[string]bool{}
	for _, got := range arrays(outputs) {
		tolerance, ok := r.tolerances[got.Name]
		if !ok {
			tolerance = r.tolerances[""]
		}
		c := comparison{output: got.Name, got: got.Tensor, tolerance: tolerance}
		i := slices.IndexFunc(r.arrays, func(a tensor.Named) bool { return a.Name == got.Name })
		if i < 0 {
			c.Comparison = tensor.Comparison{Match: !r.all, Worst: -1, Reason: "not compared: the reference does not have it"}
			if r.all {
				c.Reason += ", and --expect-all asks for it"
			}
			extra = append(extra, c)
			continue
		}
		seen[got.Name] = true
		c.want = r.arrays[i].Tensor
		c.Comparison = tensor.Compare(c.got, c.want, tolerance)
		checks = append(checks, c)
	}
	if len(checks) == 0 { // a comparison of nothing shows nothing
		for i := range extra {
			extra[i].Match = false
		}
	}
	for _, a := range r.arrays {
		if !seen[a.Name] {
			extra = append(extra, comparison{output: a.Name, want: a.Tensor,
				Comparison: tensor.Comparison{Worst: -1, Error: math.Inf(1), Reason: "the model has no such output"}})
		}
	}
	return append(checks, extra...)
}

func allMatch(checks []comparison) bool {
	return !slices.ContainsFunc(checks, func(c comparison) bool { return !c.Match })
}

// worstIndex is the place of the worst element on each axis.
func (c comparison) worstIndex() []int {
	shape := c.want.Shape()
	at := make([]int, len(shape))
	rest := c.Worst
	for i := len(shape) - 1; i >= 0; i-- {
		at[i] = rest % shape[i]
		rest /= shape[i]
	}
	return at
}

// String describes the comparison in a line.
func (c comparison) String() string {
	output := report.Printable(c.output)
	switch {
	case c.Worst < 0 && c.Reason == "":
		return output + ": equal"
	case c.Worst < 0:
		return output + ": " + c.Reason
	}
	word := "matches"
	if !c.Match {
		word = "differs"
	}
	text := fmt.Sprintf("%s: %s, worst element %v is %s, expected %s", output, word,
		tensor.ShapeOf(c.worstIndex()...), report.Element(c.got, c.Worst), report.Element(c.want, c.Worst))
	switch {
	case !c.want.DType().IsFloat():
	case c.RMS > 0: // the unit of the tolerance
		text += fmt.Sprintf(", off by %.3g rms (tolerance %.3g rms; 1 rms is %.3g)", c.Error, c.tolerance, c.RMS)
	default:
		text += fmt.Sprintf(", off by %.3g (tolerance %.3g)", c.Error, c.tolerance)
	}
	return text
}
