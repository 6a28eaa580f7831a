package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/bench"
	"github.com/espalier-ane/espalier/explain/report"
)

// report prints what run found: the comparisons if there are any, else the outputs unless they were written
// to files, and the time and where it went if that was asked for.
func (c *runCmd) report(call *invocation, f *espalier.Function, results []result, times []time.Duration, spent *bench.Profile) error {
	if c.JSON {
		return report.WriteJSON(call.stdout, c.runReport(f, results, times, spent))
	}
	if c.toStandard() {
		return nil
	}
	w := bufio.NewWriter(call.stdout)
	for _, file := range f.RandomWeights() {
		fmt.Fprintf(w, "%s is absent: its weights are random\n", report.Printable(file))
	}
	for i, r := range results {
		if len(r.checks) == 0 && c.given() {
			continue
		}
		if len(results) > 1 {
			fmt.Fprintf(w, "case %d, %s\n", i+1, r.file)
		}
		for _, compared := range r.checks {
			fmt.Fprintln(w, compared)
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
	if spent != nil {
		if err := spent.WriteText(w, shownTasks); err != nil {
			return err
		}
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
	shownClasses = 5
	shownTasks   = 10
)

// printValue describes an output: its type and shape, its range, its first elements or best classes.
func printValue(w io.Writer, v *espalier.Value) {
	t := v.Tensor
	name := report.Printable(v.Feature.Name)
	if v.Labels != nil {
		fmt.Fprintf(w, "%s  %v, %d classes\n", name, v.Feature.Type, t.Len())
		for _, class := range v.Top(shownClasses) {
			fmt.Fprintf(w, "  %-8s  %s\n", report.Short(class.Probability), report.Printable(class.Label))
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
	if text := report.Range(t); t.Len() > 1 && text != "" {
		fmt.Fprintf(w, "  %s\n", text)
	}
	fmt.Fprintf(w, "  %s\n", report.First(t).Text(t.Len()))
}
