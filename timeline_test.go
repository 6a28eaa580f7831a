package espalier_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
)

// timelineText is a timeline as a tree, without times, and of the passes of the compiler only the phases.
func timelineText(t *testing.T, p *espalier.Profile) string {
	t.Helper()
	var written bytes.Buffer
	if err := p.WriteTimeline(&written); err != nil {
		t.Fatal(err)
	}
	var timeline struct {
		TraceEvents []struct {
			Name, Cat, Ph string
			TS, Dur       float64
			TID           int
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(written.Bytes(), &timeline); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var open []float64 // ends
	last := ""
	for _, e := range timeline.TraceEvents {
		if e.Ph == "M" {
			continue
		}
		if e.TID != 1 {
			t.Errorf("%s is on lane %d: nothing here runs at the same time", e.Name, e.TID)
		}
		for len(open) > 0 && open[len(open)-1] <= e.TS {
			open = open[:len(open)-1]
		}
		line := fmt.Sprintf("%s%s %s", strings.Repeat("  ", len(open)), e.Cat, e.Name)
		if phase, ok := e.Args["phase"]; ok {
			line = fmt.Sprintf("%scompile phase %v", strings.Repeat("  ", len(open)), phase)
		}
		for _, name := range []string{"tasks", "result", "bytes"} {
			if v, ok := e.Args[name]; ok {
				line += fmt.Sprintf(" %s=%v", name, v)
			}
		}
		open = append(open, e.TS+e.Dur)
		if line != last {
			text.WriteString(line + "\n")
		}
		last = line
	}
	return text.String()
}

// A timeline has what happens when a model is run for the first time, and again: each within what it is part of.
func TestTimeline(t *testing.T) {
	m, err := espalier.Open(writeModel(t, `program(1.3)
{
    func main<ios18>(tensor<fp32, [1, 4]> x) {
            string half = const()[name = string("half"), val = string("fp16")];
            tensor<fp16, [1, 4]> h = cast(dtype = half, x = x)[name = string("h")];
            tensor<fp16, [4, 4]> w = const()[name = string("w"), val = tensor<fp16, [4, 4]>([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])];
            tensor<fp16, [4]> b = const()[name = string("b"), val = tensor<fp16, [4]>([1, 2, 3, 4])];
            tensor<fp16, [1, 4]> l = linear(bias = b, weight = w, x = h)[name = string("l")];
            string single = const()[name = string("single"), val = string("fp32")];
            tensor<fp32, [1, 4]> s = cast(dtype = single, x = l)[name = string("s")];
            tensor<int32, [?, 2]> places = non_zero(x = s)[name = string("places")];
        } -> (places);
}
`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	predict := func(p *espalier.Profile) {
		t.Helper()
		if _, err := m.Predict(p.Watch(t.Context()), map[string]any{"x": []float32{1, 2, 3, 4}}); err != nil {
			t.Fatal(err)
		}
	}
	var first, second, sums espalier.Profile
	first.Record()
	second.Record()
	predict(&first)
	predict(&second)
	predict(&sums)
	const run = `  cast x to h bytes=16
  dispatch main_0 tasks=1
    task MatrixMultiplication result=fp32[1, 1, 1, 4] bytes=64
  host main_1
`
	for _, c := range []struct {
		p    *espalier.Profile
		want string
	}{
		{&first, `predict predict
  compile compile
    compile phase fuse
    compile phase legalize
    compile phase schedule
    compile phase memory
    compile phase emit
  load load
` + run},
		{&second, "predict predict\n" + run},
		{&sums, ""},
	} {
		if got := timelineText(t, c.p); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}
