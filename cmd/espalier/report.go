package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// report prints what run found: the comparisons if there are any, else the outputs unless they were written
// to files, and the time if it was asked for.
func (c *runCmd) report(call *invocation, f *espalier.Function, results []result, times []time.Duration) error {
	if c.JSON {
		return printJSON(call.stdout, c.runReport(f, results, times))
	}
	w := bufio.NewWriter(call.stdout)
	for i, r := range results {
		if len(r.checks) == 0 && c.given() {
			continue
		}
		if len(results) > 1 {
			fmt.Fprintf(w, "case %d, %s\n", i+1, r.file)
		}
		for _, check := range r.checks {
			fmt.Fprintln(w, check)
		}
		if len(r.checks) == 0 {
			for _, v := range r.outputs {
				printValue(w, v)
			}
		}
	}
	if c.Repeat > 1 {
		fmt.Fprintf(w, "%d runs: fastest %s, median %s\n", len(times), milliseconds(times[0]), milliseconds(median(times)))
	}
	return w.Flush()
}

// median takes sorted times.
func median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64) + " ms"
}

const (
	shownClasses  = 5
	shownElements = 8
)

// printValue describes an output: its type and shape, its range, its first elements or best classes.
func printValue(w io.Writer, v *espalier.Value) {
	t := v.Tensor
	name := printable(v.Feature.Name)
	if v.Labels != nil {
		fmt.Fprintf(w, "%s  %v, %d classes\n", name, v.Feature.Type, t.Len())
		for _, class := range v.Top(shownClasses) {
			fmt.Fprintf(w, "  %-8s  %s\n", shortNumber(class.Probability), printable(class.Label))
		}
		return
	}
	kind := t.String()
	if _, ok := v.Feature.Type.(*coreml.ImageType); ok {
		kind = fmt.Sprintf("%v as %v", v.Feature.Type, t)
	}
	fmt.Fprintf(w, "%s  %s\n", name, kind)
	if t.Len() == 0 {
		fmt.Fprintln(w, "  no elements")
		return
	}
	if text := rangeText(t); t.Len() > 1 && text != "" {
		fmt.Fprintf(w, "  %s\n", text)
	}
	elements := make([]string, min(t.Len(), shownElements))
	first := firstElements(t, len(elements))
	for i := range elements {
		elements[i] = elementText(first, i)
	}
	if t.Len() > len(elements) {
		elements = append(elements, "…")
	}
	fmt.Fprintf(w, "  %s\n", strings.Join(elements, " "))
}

// firstElements are the first n elements as a list.
func firstElements(t *tensor.Tensor, n int) *tensor.Tensor {
	flat, err := t.Reshape(t.Len())
	if err == nil {
		flat, err = flat.Slice(0, 0, n, 1)
	}
	if err != nil {
		panic("bug: the first elements of " + t.String() + ": " + err.Error())
	}
	return flat
}

// elementText is an element as people read it.
func elementText(t *tensor.Tensor, i int) string {
	switch d := t.DType(); {
	case d == tensor.String:
		return strconv.Quote(t.Strings()[i])
	case d == tensor.Bool:
		return strconv.FormatBool(t.Int64s()[i] != 0)
	case d == tensor.UInt64:
		return strconv.FormatUint(uint64(t.Int64s()[i]), 10)
	case d.IsFloat():
		return shortNumber(t.Float64s()[i])
	}
	return strconv.FormatInt(t.Int64s()[i], 10)
}

func shortNumber(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// summary is the range of an array of numbers.
type summary struct {
	Min, Max, Mean float64 // of the finite elements
	Finite         int
	NaN, Infinite  int
}

func summarize(t *tensor.Tensor) summary {
	s := summary{Min: math.Inf(1), Max: math.Inf(-1)}
	sum := 0.0
	for _, v := range t.Float64s() {
		switch {
		case math.IsNaN(v):
			s.NaN++
		case math.IsInf(v, 0):
			s.Infinite++
		default:
			s.Finite++
			s.Min, s.Max = min(s.Min, v), max(s.Max, v)
			sum += v
		}
	}
	s.Mean = sum / float64(s.Finite)
	return s
}

// rangeText describes the range of an array; "" if it has none.
func rangeText(t *tensor.Tensor) string {
	switch {
	case t.DType() == tensor.String:
		return ""
	case t.DType() == tensor.Bool:
		n := 0
		for _, v := range t.Int64s() {
			n += int(v)
		}
		return fmt.Sprintf("%d of %d true", n, t.Len())
	}
	s := summarize(t)
	var parts []string
	if s.Finite > 0 {
		parts = append(parts, fmt.Sprintf("from %s to %s, mean %s", shortNumber(s.Min), shortNumber(s.Max), shortNumber(s.Mean)))
	}
	if s.NaN > 0 {
		parts = append(parts, fmt.Sprintf("%d NaN", s.NaN))
	}
	if s.Infinite > 0 {
		parts = append(parts, fmt.Sprintf("%d infinite", s.Infinite))
	}
	return strings.Join(parts, ", ")
}
