package bench

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/kernel/isa"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// Options say what is measured, and for how long.
type Options struct {
	Model  string        // its path, for the report
	Target string        // that it was opened for
	Opened time.Duration // how long opening it took

	// Each measurement goes on for Duration, or, if Repeat is not 0, for so many predictions of each stream.
	Duration time.Duration
	Repeat   int

	Threads int   // of a prediction, as the model was opened; 0: GOMAXPROCS
	Streams []int // how many predictions are under way at once; nil: 1, 2, 4 … up to GOMAXPROCS
	Batches []int // how many examples a prediction has; nil: 1, 2, 4, 8, as far as the model takes them

	// Budget measures nothing but the first prediction and where the time of later ones goes, by stage.
	Budget bool

	// Progress is told what is measured now; nil is not.
	Progress func(done, all int, what string)
}

// Measure runs a function on inputs and says how fast that is. When the context ends before it is done, the report has what was
// measured until then, and the error is that of the context.
func Measure(ctx context.Context, f *espalier.Function, inputs map[string]any, o Options) (*Report, error) {
	m := &measurement{f: f, inputs: inputs, Options: o, report: newReport(f, inputs, o)}
	if m.Streams == nil {
		m.Streams = doublings(runtime.GOMAXPROCS(0))
	}
	if m.Batches == nil {
		m.Batches = doublings(8)
	}
	list := measurements
	if o.Budget {
		list = budgetMeasurements
	}
	for i, part := range list {
		if o.Progress != nil {
			o.Progress(i, len(list), part.what)
		}
		err := ctx.Err()
		if err == nil {
			err = part.do(m, ctx)
		}
		if err != nil {
			m.report.Interrupted = ctx.Err() != nil
			return m.report, err
		}
	}
	return m.report, nil
}

// doublings are 1, 2, 4 … and the last number itself.
func doublings(last int) []int {
	var list []int
	for n := 1; n < last; n *= 2 {
		list = append(list, n)
	}
	return append(list, last)
}

type measurement struct {
	Options
	f      *espalier.Function
	inputs map[string]any
	report *Report

	firstStages []espalier.Stages // of the first prediction
}

// A part is one of the things that are measured.
type part struct {
	what string
	do   func(*measurement, context.Context) error
}

// measurements are in their order: the first prediction is the cold one, and memory is asked for before the roofline needs some.
var measurements = []part{
	{"the first prediction", (*measurement).first},
	{"latency", (*measurement).latency},
	{"tasks", (*measurement).tasks},
	{"memory", (*measurement).memory},
	{"streams", (*measurement).streams},
	{"batches", (*measurement).batches},
	{"what the machine can do", (*measurement).roofline},
}

// budgetMeasurements are those of Options.Budget.
var budgetMeasurements = []part{
	{"the first prediction", (*measurement).first},
	{"stages", (*measurement).budget},
}

// A stream runs the function again and again: on memory that stays, where the function takes that, and on a state of its own.
type stream struct {
	f      *espalier.Function
	call   *espalier.Call // nil: it makes its outputs anew
	inputs map[string]any
	state  *espalier.State
}

func (m *measurement) stream(ctx context.Context, inputs map[string]any) (*stream, error) {
	s := &stream{f: m.f, inputs: inputs, state: m.f.NewState()}
	made, err := m.f.PredictWithState(ctx, inputs, s.state)
	if err != nil {
		return nil, err
	}
	outputs := map[string]any{}
	for name, v := range made {
		outputs[name] = v.Tensor
	}
	if call, err := m.f.Bind(ctx, inputs, outputs); err == nil {
		s.call = call
	}
	return s, ctx.Err()
}

func (s *stream) run(ctx context.Context) error {
	if s.call != nil {
		return s.call.RunWithState(ctx, s.state)
	}
	_, err := s.f.PredictWithState(ctx, s.inputs, s.state)
	return err
}

func (m *measurement) first(ctx context.Context) error {
	var spent espalier.Profile
	if m.Budget {
		spent.Record()
	}
	began := time.Now()
	if _, err := m.f.PredictWithState(spent.Watch(ctx), m.inputs, m.f.NewState()); err != nil {
		return err
	}
	took := time.Since(began)
	m.firstStages = spent.Stages()
	compile, fetch, load := spent.Compiled().Total, spent.Fetched().Total, spent.Loaded().Total
	m.report.First = &First{
		OpenMS: milliseconds(m.Opened), CompileMS: milliseconds(compile), FetchMS: milliseconds(fetch), LoadMS: milliseconds(load),
		RunMS: milliseconds(took - compile - fetch - load), TotalMS: milliseconds(m.Opened + took),
	}
	return nil
}

// series runs predictions one after the other for as long as the options say, and returns how long each took. It has at least
// one.
func (m *measurement) series(ctx context.Context, s *stream) ([]time.Duration, error) {
	var times []time.Duration
	for began := time.Now(); m.goOn(len(times), began); {
		start := time.Now()
		if err := s.run(ctx); err != nil {
			return times, err
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}

func (m *measurement) goOn(done int, began time.Time) bool {
	if m.Repeat > 0 {
		return done < m.Repeat
	}
	return done == 0 || time.Since(began) < m.Duration
}

// warm lets pages, caches and the clock of the processor come to where they stay.
func (m *measurement) warm(ctx context.Context, s *stream) error {
	const least = 3
	for i, began := 0, time.Now(); i < least || m.Repeat == 0 && time.Since(began) < m.Duration/4; i++ {
		if err := s.run(ctx); err != nil {
			return err
		}
		if time.Since(began) > m.Duration && m.Repeat == 0 {
			break // a large model
		}
	}
	return nil
}

func (m *measurement) latency(ctx context.Context) error {
	s, err := m.stream(ctx, m.inputs)
	if err == nil {
		err = m.warm(ctx, s)
	}
	if err != nil {
		return err
	}
	times, err := m.series(ctx, s)
	if len(times) > 0 {
		m.report.Latency = newLatency(times)
	}
	return err
}

func (m *measurement) tasks(ctx context.Context) error {
	var spent espalier.Profile
	s, err := m.stream(ctx, m.inputs)
	if err != nil {
		return err
	}
	times, err := m.series(spent.Watch(ctx), s)
	total := time.Duration(0)
	for _, t := range times {
		total += t
	}
	if len(times) > 0 {
		m.report.Profile = NewProfile(m.f, &spent, len(times), total)
		for _, step := range m.f.Profile(&spent) {
			m.report.Memory.add(&step.Memory)
		}
	}
	return err
}

func (m *measurement) memory(context.Context) error {
	m.report.Memory.Resident, m.report.Memory.Anonymous = osfile.Resident()
	return nil
}

// streams measures predictions that are under way at once.
func (m *measurement) streams(ctx context.Context) error {
	for _, n := range m.Streams {
		t, err := m.throughput(ctx, n, m.inputs)
		if err != nil {
			return err
		}
		m.report.Streams = append(m.report.Streams, Throughput{Streams: n, Batch: 1, Runs: t.Runs, PerSecond: t.PerSecond, MedianMS: t.MedianMS})
	}
	return nil
}

// throughput measures so many streams of predictions, each with a state of its own.
func (m *measurement) throughput(ctx context.Context, streams int, inputs map[string]any) (Throughput, error) {
	var group sync.WaitGroup
	made := make([]*stream, streams)
	for i := range made {
		var err error
		if made[i], err = m.stream(ctx, inputs); err != nil {
			return Throughput{}, err
		}
	}
	all := make([][]time.Duration, streams)
	errs := make([]error, streams)
	began := time.Now()
	for i := range streams {
		group.Go(func() { all[i], errs[i] = m.series(ctx, made[i]) })
	}
	group.Wait()
	elapsed := time.Since(began).Seconds()
	for _, err := range errs {
		if err != nil {
			return Throughput{}, err
		}
	}
	times := slices.Concat(all...)
	return Throughput{Runs: len(times), PerSecond: float64(len(times)) / elapsed, MedianMS: newLatency(times).MedianMS}, nil
}

// batches measures predictions of several examples, of a model whose inputs may be longer along their first axis.
func (m *measurement) batches(ctx context.Context) error {
	for _, n := range m.Batches {
		inputs, ok := m.batchOf(n)
		if !ok {
			if n > 1 {
				m.report.BatchNote = "the model takes no larger batch"
			}
			break
		}
		t, err := m.throughput(ctx, 1, inputs)
		if err != nil {
			return err
		}
		t.Streams, t.Batch, t.PerSecond = 1, n, t.PerSecond*float64(n)
		m.report.Batches = append(m.report.Batches, t)
	}
	return nil
}

// batchOf repeats the inputs along their first axis, if the model takes that.
func (m *measurement) batchOf(n int) (map[string]any, bool) {
	if n == 1 {
		return m.inputs, true
	}
	if len(m.f.States()) > 0 {
		return nil, false
	}
	larger := map[string]any{}
	for _, d := range m.f.Inputs() {
		given, there := m.inputs[d.Name]
		if !there {
			continue
		}
		typ, isArray := d.Type.(*coreml.ArrayType)
		t, isTensor := given.(*tensor.Tensor)
		if !isArray || !isTensor || t.Rank() == 0 || t.DType() == tensor.String {
			return nil, false
		}
		shape := slices.Clone(t.Shape())
		if shape[0] != 1 { // more than one example already, or no axis of examples
			return nil, false
		}
		shape[0] = n
		if !typ.Admits(shape) {
			return nil, false
		}
		repeated, err := t.BroadcastTo(shape...)
		if err != nil {
			return nil, false
		}
		larger[d.Name] = repeated.Clone()
	}
	return larger, len(larger) > 0
}

// threads are how many goroutines a prediction is computed on.
func (o *Options) threads() int {
	if o.Threads > 0 {
		return min(o.Threads, runtime.GOMAXPROCS(0))
	}
	return runtime.GOMAXPROCS(0)
}

func newReport(f *espalier.Function, inputs map[string]any, o Options) *Report {
	return &Report{
		Report: reportName, Model: o.Model, Function: f.Name(), Features: featuresText(f), Inputs: inputsText(f, inputs), Target: o.Target, Numerics: f.Numerics().String(),
		RandomWeights: f.RandomWeights(), Memory: &Memory{},
		Machine: Machine{Platform: runtime.GOOS + "/" + runtime.GOARCH, ISA: isa.Have().String(), Processors: runtime.GOMAXPROCS(0), Threads: o.threads()},
	}
}
