package compiler

import (
	"cmp"
	"context"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/mil"
)

// generator is who the manifest says wrote the bundle.
const generator = "espalier"

// link puts compiled functions together: descriptor, containers, host program and weights, as a bundle in memory.
func (job *Job) link(ctx context.Context, functions []*Function, weights []*WeightFile) (*Result, error) {
	m := bundle.Manifest{Generator: generator, Target: job.Target.Name, Numerics: cmp.Or(job.Numerics, job.Target.Name), Pipeline: job.Pipeline}
	program := &e5.Program{}
	containers := map[string]*hwx.File{}
	files := map[string][]byte{}
	host := &mil.Program{Version: hostVersion}
	var procedures []hwx.Spec // of the one container, if it is asked for
	for i, f := range functions {
		paths := make([]string, len(f.Segments))
		external := make([]string, len(f.Segments))
		for j, s := range f.Segments {
			if s == nil {
				host.Functions = append(host.Functions, f.Hosts[j])
				continue
			}
			if job.OneContainer {
				spec, err := specOf(s, false)
				if err != nil {
					return nil, err
				}
				paths[j], procedures = bundle.ContainerPath(0), append(procedures, *spec)
			} else {
				paths[j] = bundle.ContainerPath(len(containers))
				containers[paths[j]] = s.File
			}
			if readsWeights(s) {
				external[j] = weights[i].add(files)
			}
		}
		entry := job.Functions[i].Features
		var described *e5.Function
		if f.graph != nil {
			described = f.graph.descriptor(f, paths)
			f.graph.describe(&entry)
		} else {
			described = f.descriptor(paths)
		}
		program.Functions = append(program.Functions, described)
		entry.Name = f.Name
		entry.Segments = segmentsOf(described, paths, external)
		entry.Mutable = f.mutable
		if source := job.Functions[i].source(); source != nil && !job.Variant {
			host.Functions = append(host.Functions, source)
			entry.Source = source.Name
		}
		m.Functions = append(m.Functions, entry)
	}
	if len(procedures) > 0 {
		file, err := hwx.Build(procedures...)
		if err != nil {
			return nil, err
		}
		containers[bundle.ContainerPath(0)] = file
	}
	r := &Result{Functions: functions}
	text := ""
	if len(host.Functions) > 0 {
		r.Host = host
		if err := addHostWeights(host, &m, files); err != nil {
			return nil, err
		}
		to := hostText{ctx: ctx}
		if err := mil.WriteText(&to, host); err != nil {
			return nil, err
		}
		text = to.String()
	}
	var err error
	r.Bundle, err = bundle.New(m, program, containers, text, files)
	return r, err
}

// hostText is the text of host.mil as far as it is written, until a context ends: constants may stand in it in full.
type hostText struct {
	ctx context.Context
	strings.Builder
}

func (t *hostText) Write(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	return t.Builder.Write(p)
}

// source is the whole function, of one that takes other shapes too.
func (e *Entry) source() *mil.Function {
	if len(e.Shapes) == 0 {
		return nil
	}
	f := *e.Function
	f.Name += "__source"
	return &f
}

// hostVersion is the version of MIL that the host program is written in.
const hostVersion = "1.3"

// segmentsOf lists the operations of a descriptor that compute, as the manifest has them.
func segmentsOf(f *e5.Function, containers, weights []string) []bundle.Segment {
	var list []bundle.Segment
	for _, op := range f.Operations() {
		switch a := op.Attrs.(type) {
		case e5.AneInferenceAttrs:
			i := len(list) // one operation for each part, in order
			list = append(list, bundle.Segment{
				Operation: op.Name, Backend: bundle.Engine, Container: containers[i], Procedure: a.ProcedureName, Weights: weights[i],
			})
		case e5.CpuInferenceAttrs:
			list = append(list, bundle.Segment{Operation: op.Name, Backend: bundle.Host, Function: a.Function})
		}
	}
	return list
}
