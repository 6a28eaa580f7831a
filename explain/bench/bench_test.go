package bench

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// made is a report whose numbers are made up.
func made() *Report {
	r := &Report{
		Report: reportName, Model: "a<b>.mlpackage", Function: "main", Features: "x fp16 array [1, 8] → y fp16 array [1, 8]", Inputs: "x fp16[1, 8]",
		Target: "h13", Numerics: "h13", Machine: Machine{Platform: "linux/amd64", ISA: "avx2", Processors: 4, Threads: 2},
		RandomWeights: []string{"w.bin"},
		First:         &First{OpenMS: 1, CompileMS: 2, LoadMS: 3, RunMS: 4, TotalMS: 10},
		Latency:       newLatency([]time.Duration{4e6, 2e6, 3e6, 1e6}),
		Streams:       []Throughput{{1, 1, 4, 400, 2.5}, {2, 1, 8, 700, 2.75}},
		Batches:       []Throughput{{1, 1, 4, 400, 2.5}}, BatchNote: "the model takes no larger batch",
		Memory:   &Memory{Resident: 64 << 20, Anonymous: 32 << 20, Weights: 8 << 20, Packed: 16 << 20, Scratch: 1 << 20},
		Roofline: &Roofline{Threads: 2, GFLOPS: 100, By: "fma avx2", MemoryGBPS: 10, MemoryBytes: 1 << 28, L2GBPS: 50, L2Bytes: 1 << 20},
		Profile: &Profile{Runs: 4, TotalMS: 10, EngineMS: 9, HostMS: 0.5, CastMS: 0.25, Tasks: []Task{
			{Segment: "main_0", Task: 1, What: "Conv 3×3", Result: "fp16[1, 8, 4, 4]", Operations: []string{"c", "relu"}, Runs: 4, TotalMS: 6, MinMS: 1.25, Share: 0.6, FLOPs: 75e6, Bytes: 1e6, GFLOPS: 50, GBPS: 1 / 1.5},
			{Segment: "main_0", Task: 0, What: "ElementWise", Result: "fp16[1, 8, 4, 4]", Operations: []string{"a"}, Runs: 4, TotalMS: 2, MinMS: 0.5, Share: 0.2, FLOPs: 1e6, Bytes: 4e6, GFLOPS: 2, GBPS: 8},
			{Segment: "main_0", Task: 2, What: "Copy", Result: "fp16[1, 8]", Runs: 4, TotalMS: 0.5, MinMS: 0.1, Share: 0.05, Bytes: 1e4, GBPS: 0.08},
		}, Host: []Segment{{Segment: "main_1", Operations: []string{"weird"}, Runs: 4, TotalMS: 0.5, MinMS: 0.1, Share: 0.05}}},
	}
	for i := range r.Profile.Tasks {
		r.Roofline.judge(&r.Profile.Tasks[i])
	}
	return r
}

// The forms of a report are held with numbers that no machine changes.
func TestForms(t *testing.T) {
	before := made()
	before.Latency.MedianMS, before.Profile.Tasks[0].TotalMS = 4, 12
	before.Profile.Tasks[2].Task = 7 // has no operations to be known by
	r := made()
	var err error
	if r.Compared, err = Compare(before, r, "a.json"); err != nil {
		t.Fatal(err)
	}
	for _, form := range []struct {
		file  string
		write func(*Report, io.Writer) error
	}{{"report.txt", (*Report).WriteText}, {"report.json", (*Report).WriteJSON}, {"report.html", (*Report).WriteHTML}} {
		var b bytes.Buffer
		if err := form.write(r, &b); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, filepath.Join("testdata", form.file), b.Bytes())
	}
}

// An interrupted report has what was measured, in every form.
func TestInterruptedReport(t *testing.T) {
	r := &Report{Report: reportName, Model: "m", Memory: &Memory{}, Interrupted: true, First: made().First}
	for _, write := range []func(*Report, io.Writer) error{(*Report).WriteText, (*Report).WriteJSON, (*Report).WriteHTML} {
		var b bytes.Buffer
		if err := write(r, &b); err != nil || !strings.Contains(b.String(), "interrupted") {
			t.Errorf("error %v: %s", err, b.String())
		}
	}
	if _, err := Compare(made(), &Report{Features: made().Features, Function: "main", Inputs: made().Inputs}, "a.json"); err != nil {
		t.Error(err)
	}
}

func TestJSONSurvives(t *testing.T) {
	var b, again bytes.Buffer
	if err := made().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	want := b.String()
	r, err := ReadJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&again); err != nil || again.String() != want {
		t.Errorf("error %v, read and written it is\n%s", err, again.String())
	}
}

// Reports of other models are refused: by what they take, and by the work.
func TestCompareOther(t *testing.T) {
	for what, change := range map[string]func(*Report){
		"features": func(r *Report) { r.Features = "z" },
		"function": func(r *Report) { r.Function = "z" },
		"shapes":   func(r *Report) { r.Inputs = "z" },
		"work":     func(r *Report) { r.Profile.Tasks[0].FLOPs *= 3 },
	} {
		other := made()
		change(other)
		if _, err := Compare(other, made(), "a.json"); !errors.Is(err, ErrOther) {
			t.Errorf("other %s: the error is %v", what, err)
		}
	}
}

func TestBounds(t *testing.T) {
	r := &Roofline{GFLOPS: 100, MemoryGBPS: 10}
	for _, c := range []struct {
		flops, bytes, ms float64
		want             Bound
	}{
		{50e6, 1e6, 1, BoundByCompute}, // half of the peak
		{1e6, 5e6, 1, BoundByMemory},   // half of the bandwidth
		{10e6, 1e6, 1, BoundByNeither}, // a tenth of each
		{0, 5e6, 1, BoundByMemory},
	} {
		task := Task{FLOPs: c.flops, Bytes: c.bytes, Runs: 2, TotalMS: 2 * c.ms}
		if r.judge(&task); task.Bound != c.want {
			t.Errorf("%+v is bound by %s", c, task.Bound)
		}
	}
}

func TestLatency(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(200-i)*time.Millisecond)
	}
	want := Latency{Runs: 200, MeanMS: 100.5, MinMS: 1, MedianMS: 100, P90MS: 180, P99MS: 198, MaxMS: 200}
	if got := newLatency(times); *got != want {
		t.Errorf("got %+v", *got)
	}
}

// Labels of tasks that lie together stay apart, and in the picture.
func TestLabelsStayApart(t *testing.T) {
	p := &plot{roof: &Roofline{GFLOPS: 100, MemoryGBPS: 10}, x1: 3, y1: 3}
	const tasks = 30
	for i := range tasks {
		p.label(500+float64(i%3), 300+float64(i%5), 8, "12 MatrixMultiplication")
	}
	if n := len(p.taken); n < 5 || n == tasks {
		t.Errorf("%d labels of %d", n, tasks)
	}
	for i, a := range p.taken {
		if a.left < marginLeft || a.right > pictureWidth || a.top < 0 || a.bottom > pictureHeight {
			t.Errorf("%v is outside", a)
		}
		for _, b := range p.taken[:i] {
			if a.meets(b) {
				t.Errorf("%v meets %v", a, b)
			}
		}
	}
}

// What was compiled before is from the cache, and says so.
func TestFromTheCache(t *testing.T) {
	r := made()
	r.First.CompileMS, r.First.FetchMS = 0, 1.5
	r.Profile.FetchMS = 1.5
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"from cache", "1.500 ms", "once: taken from the cache in 1.500 ms"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "compile") {
		t.Error("it speaks of compiling")
	}
}
