package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/bench"
)

type runCmd struct {
	Model string `arg:"" help:"A package (.mlpackage, also zipped), model (.mlmodel), compiled model (.mlmodelc), MIL text (.mil), graph of native layers (.anec, .plist), bundle or hardware container (.hwx); - is standard input."`

	inputFlags  `embed:""`
	outputFlags `embed:""`
	expectFlags `embed:""`

	modelFlags `embed:""`

	Repeat  int       `default:"1" placeholder:"N" help:"Run everything N times, each time on a fresh state, and show the time that it takes."`
	Profile bool      `help:"Show where the time goes: the ten dearest tasks of the engine with the operations of the model that they compute, and the segments of the host. With --repeat, over all runs."`
	Trace   traceFile `placeholder:"F" help:"Write a timeline: phases of the compiler, load, dispatches and tasks. Open it at ui.perfetto.dev. A timeline is replaced, nothing else is."`
	JSON    bool      `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

// result is what a case gave.
type result struct {
	file    string // of --inputs; "" if there is none
	outputs []*espalier.Value
	checks  []comparison // against the case's --expect
}

func (c *runCmd) Run(call *invocation) error {
	specs, err := c.parse()
	if err != nil {
		return err
	}
	config, err := c.config(call, c.Resize)
	if err != nil {
		return err
	}
	if c.Repeat < 1 {
		return usagef("--repeat %d: expected 1 or more", c.Repeat)
	}
	if err := c.Trace.check(); err != nil {
		return err
	}
	if c.toStandard() {
		if c.JSON || len(c.Expect) > 0 || c.Repeat > 1 || c.Profile {
			return usagef("outputs go to standard output, where --json, --expect, --repeat and --profile print what they have to say: send them to a file")
		}
		if _, err := call.binaryOutput(); err != nil {
			return err
		}
	}
	began := time.Now()
	f, closeModel, err := c.open(call, config, c.Model)
	if err != nil {
		return err
	}
	defer closeModel()
	cases, err := c.cases(call, f, specs)
	if err != nil {
		return err
	}
	if err := checkMissing(call, f, cases); err != nil {
		return err
	}
	expected, err := c.references(call, f, len(cases))
	if err != nil {
		return err
	}
	files, err := c.files(f, len(cases), slices.Concat([]string{c.Model}, c.Inputs, inputFiles(specs), c.Expect))
	if err != nil {
		return err
	}

	var profile espalier.Profile
	watch := call.Context
	if c.Profile || c.Trace != "" {
		watch = profile.Watch(call)
	}
	if c.Trace != "" {
		profile.Record()
		profile.Mark("open", began)
	}
	results, times, err := c.predictOrStop(call, watch, f, cases)
	if err != nil {
		return err
	}
	var spent *bench.Profile
	if c.Profile {
		total := time.Duration(0)
		for _, t := range times {
			total += t
		}
		spent = bench.NewProfile(f, &profile, c.Repeat*len(cases), total)
	}
	var mismatched []string // the files of --expect that are not met
	for i, e := range expected {
		results[i].checks = e.compare(results[i].outputs)
		if !allMatch(results[i].checks) {
			mismatched = append(mismatched, shown(c.Expect[i]))
		}
	}
	if mismatched == nil && call.Err() == nil {
		if err := call.writeAll(files, results); err != nil {
			return err
		}
	}
	if err := call.Err(); err != nil {
		return err
	}
	if err := c.Trace.write(&profile); err != nil {
		return err
	}
	if err := c.report(call, f, results, times, spent); err != nil {
		return err
	}
	if mismatched != nil {
		note := ""
		if len(files) > 0 {
			note = "; nothing is written"
		}
		return fmt.Errorf("%w: %s%s", errMismatch, strings.Join(mismatched, ", "), note)
	}
	return nil
}

// predictOrStop is predict that does not keep an interrupted user waiting: an evaluation asks its context only
// between operations, and one of them may take long. What is left behind ends with the process.
func (c *runCmd) predictOrStop(call *invocation, watch context.Context, f *espalier.Function, cases []inputCase) ([]result, []time.Duration, error) {
	var results []result
	var times []time.Duration
	err := await(call, func() (err error) {
		results, times, err = c.predict(call, watch, f, cases)
		return err
	})
	if err != nil {
		return nil, nil, err // results may still be written to
	}
	return results, times, nil
}

// predict runs the cases in order on one state, as often as --repeat says, and measures each time how long
// all of them take together. Predictions have the context watch, which may belong to a profile.
func (c *runCmd) predict(call *invocation, watch context.Context, f *espalier.Function, cases []inputCase) ([]result, []time.Duration, error) {
	var results []result
	var times []time.Duration
	for i := range c.Repeat {
		var elapsed time.Duration
		results = results[:0]
		state := f.NewState()
		for k, in := range cases {
			if done, all := i*len(cases)+k, c.Repeat*len(cases); all > 1 {
				call.bar.set(done, all, fmt.Sprintf("run %d of %d", done+1, all))
			} else {
				call.bar.set(0, 1, "running "+f.Name())
			}
			start := time.Now()
			values, err := f.PredictWithState(watch, in.inputs, state)
			elapsed += time.Since(start)
			if err != nil {
				return nil, nil, in.explain(err)
			}
			r := result{file: in.file}
			for _, d := range f.Outputs() {
				r.outputs = append(r.outputs, values[d.Name])
			}
			results = append(results, r)
		}
		times = append(times, elapsed)
	}
	slices.Sort(times)
	return results, times, nil
}

// explain says which file an error is about, and which flag helps.
func (c inputCase) explain(err error) error {
	if errors.Is(err, espalier.ErrPictureSize) {
		err = fmt.Errorf("%w with --resize stretch, fit or crop", err)
	}
	var input *espalier.InputError
	if errors.As(err, &input) && input.Missing {
		return usageError{err}
	}
	if input != nil && c.origins[input.Name] != "" {
		return fmt.Errorf("%s: %w", c.origins[input.Name], err)
	}
	return err
}
