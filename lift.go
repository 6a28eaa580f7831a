package espalier

import (
	"context"
	"errors"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/netplist"
)

// Lifting is the way from a model to graphs that people edit: the native layers of its segments on the engine, as they were lowered
// and before any pass. They open and compile like any model. Segments of the host have no such form and are left out.
//
//	main: engine, host, engine  →  graphs main_0, main_2
//	main: engine                →  graph main

// WriteGraphs writes them as text, and their large constants to a file beside it: net.anec and net.weights. It replaces such files,
// and refuses anything else that is there.
func (p *Program) WriteGraphs(ctx context.Context, path string) (err error) {
	return p.lift(ctx, func(graphs []*anec.Graph) error {
		t := graphfile.NewText(path)
		for _, g := range graphs {
			t.Add(g.Name, anec.PrintWith(g, t.Place))
		}
		return t.Write()
	})
}

// WriteNetplist writes them as a network description: a folder with net.plist and weights. It replaces such a folder, and refuses
// anything else that is there. The findings say what Apple's compiler would not know of it.
func (p *Program) WriteNetplist(ctx context.Context, dir string) (findings []*Finding, err error) {
	err = p.lift(ctx, func(graphs []*anec.Graph) error {
		list, weights, found, err := netplist.FromGraphs(graphs)
		if err != nil {
			return err
		}
		for _, f := range found {
			findings = append(findings, &f)
		}
		return graphfile.WriteFolder(dir, list, weights)
	})
	return findings, err
}

// lift calls f with the graphs, while the model is open.
func (p *Program) lift(ctx context.Context, f func([]*anec.Graph) error) (err error) {
	place, err := p.life.enter(ctx)
	if err != nil {
		return err
	}
	defer p.life.leave(place, &err)
	defer osfile.Protect().Catch(&err)
	graphs := p.lowered()
	if len(graphs) == 0 {
		return errors.New("the model has no native layers to write: the host runs all of it")
	}
	return f(graphs)
}

// lowered are the graphs of all segments on the engine, called by their function, or by their segment if it has several.
func (p *Program) lowered() (graphs []*anec.Graph) {
	for _, f := range p.result.Functions {
		for _, lowered := range f.Lowered {
			if lowered == nil {
				continue
			}
			g := lowered.Clone()
			if len(f.Segments) == 1 {
				g.Name = f.Name
			}
			graphs = append(graphs, g)
		}
	}
	return graphs
}
