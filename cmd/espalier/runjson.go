package main

import (
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/bench"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/tensor"
)

// The types of this file are the schema of run --json; docs/json.md explains them.

type runReport struct {
	Model    string    `json:"model"`
	Function string    `json:"function"`
	Numerics string    `json:"numerics"`
	Cases    []runCase `json:"cases"`

	RandomWeights []string `json:"random_weights,omitempty"`
	Warnings      []string `json:"warnings,omitempty"`

	Time    *timeReport    `json:"time,omitempty"`
	Profile *bench.Profile `json:"profile,omitempty"`
}

type runCase struct {
	Inputs  string         `json:"inputs,omitempty"`
	Outputs []outputReport `json:"outputs"`
	Expect  []checkReport  `json:"expect,omitempty"`
}

type outputReport struct {
	Name     string         `json:"name"`
	Type     string         `json:"type"`
	DType    string         `json:"dtype"`
	Shape    []int          `json:"shape"`
	Min      *report.Number `json:"min,omitempty"`
	Max      *report.Number `json:"max,omitempty"`
	Mean     *report.Number `json:"mean,omitempty"`
	NaN      int            `json:"nan,omitempty"`
	Infinite int            `json:"infinite,omitempty"`
	Values   *report.Nested `json:"values,omitempty"`
	Labels   *report.Nested `json:"labels,omitempty"`
}

type checkReport struct {
	Output    string        `json:"output"`
	Compared  bool          `json:"compared"`
	Match     bool          `json:"match"`
	Error     report.Number `json:"error"`
	Tolerance report.Number `json:"tolerance"`
	RMS       report.Number `json:"rms,omitempty"`
	Worst     []int         `json:"worst,omitempty"`
	Reason    string        `json:"reason,omitempty"`
}

type timeReport struct {
	Runs      int     `json:"runs"`
	MinMS     float64 `json:"min_ms"`
	MedianMS  float64 `json:"median_ms"`
	LargestMS float64 `json:"max_ms"`
}

func (c *runCmd) runReport(f *espalier.Function, results []result, times []time.Duration, spent *bench.Profile) runReport {
	r := runReport{Model: c.Model, Function: f.Name(), Numerics: f.Numerics().String(), RandomWeights: f.RandomWeights(), Warnings: report.Warnings(f.Warnings()), Profile: spent}
	for _, res := range results {
		rc := runCase{Inputs: res.file, Outputs: []outputReport{}}
		for _, v := range res.outputs {
			withValues := len(res.checks) == 0 && !c.given()
			rc.Outputs = append(rc.Outputs, newOutputReport(v, withValues))
		}
		for _, compared := range res.checks {
			rc.Expect = append(rc.Expect, newCheckReport(compared))
		}
		r.Cases = append(r.Cases, rc)
	}
	if c.Repeat > 1 {
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		r.Time = &timeReport{len(times), ms(times[0]), ms(median(times)), ms(times[len(times)-1])}
	}
	return r
}

func newOutputReport(v *espalier.Value, withValues bool) outputReport {
	t := v.Tensor
	r := outputReport{Name: v.Feature.Name, Type: v.Feature.Type.String(), DType: t.DType().String(), Shape: t.Shape()}
	if r.Shape == nil {
		r.Shape = []int{}
	}
	if d := t.DType(); d != tensor.String && d != tensor.Bool {
		s := report.Summarize(t)
		r.NaN, r.Infinite = s.NaN, s.Infinite
		if s.Finite > 0 {
			r.Min, r.Max, r.Mean = (*report.Number)(&s.Min), (*report.Number)(&s.Max), (*report.Number)(&s.Mean)
		}
	}
	if withValues {
		r.Values = &report.Nested{Tensor: t}
		if v.Labels != nil {
			r.Labels = &report.Nested{Tensor: v.Labels}
		}
	}
	return r
}

func newCheckReport(c comparison) checkReport {
	r := checkReport{Output: c.output, Compared: c.got != nil && c.want != nil, Match: c.Match, Error: report.Number(c.Error), Tolerance: report.Number(c.tolerance), RMS: report.Number(c.RMS), Reason: c.Reason}
	if c.Worst >= 0 {
		r.Worst = c.worstIndex()
	}
	return r
}
