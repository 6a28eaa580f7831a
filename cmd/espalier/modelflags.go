package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/hal"
)

// modelFlags are the flags that say how a model is run.
type modelFlags struct {
	Function string `placeholder:"NAME" help:"Run this function instead of the default one."`
	Units    string `default:"all" placeholder:"U" help:"What may run the model: all, the engine and the host for what the engine does not take; ane, the engine alone; cpu, the host alone. Default: all."`
	Target   string `short:"t" placeholder:"T" help:"The engine to compile for and run on: virtual, or a chip or device as m1, h13g or iPhone17,1, which espalier targets lists. Default: virtual; of a bundle or container the one that it is for."`
	Numerics string `placeholder:"P" help:"How the engine computes: virtual, values are rounded to their declared type when they are stored; h13 or another target, with what the chip is known to do, where a rule can be changed as in h13,saturate-at-port=0; fp32, nothing is rounded, which is the host's. Default: as the target does; of a container without -t, virtual."`
	NoCache  bool   `name:"no-cache" help:"Compile the model even if it was compiled before, and keep nothing of it. espalier cache shows what is kept, and where."`
	Weights  string `placeholder:"random[:SEED]" help:"Weights whose file is absent, or a Git LFS pointer, become random: to run a model without them and see how long it takes. The same seed (0 by default) gives the same values."`
}

// config says how the model is opened.
func (c *modelFlags) config(call *invocation, resize string) (config espalier.Config, err error) {
	if c.Numerics != "" {
		if config.Numerics, err = espalier.ParseNumerics(c.Numerics); err != nil {
			return config, usagef("--numerics: %w", err)
		}
		if profile, _, _ := hal.CutName(c.Numerics); config.Numerics != espalier.FP32 {
			if _, err = call.takeTarget(profile); err != nil {
				return config, usagef("--numerics: %w", err)
			}
		}
	}
	if config.Target = c.Target; c.Target != "" {
		if _, err = call.takeTarget(c.Target); err != nil {
			return config, usagef("--target: %w", err)
		}
	}
	if config.Units, err = espalier.ParseUnits(c.Units); err != nil {
		return config, usagef("--units: %w", err)
	}
	if config.Resize, err = espalier.ParseResize(resize); err != nil {
		return config, usagef("--resize: %w", err)
	}
	if c.NoCache {
		config.Cache = espalier.NoCache
	}
	config.Note = call.noteOnce()
	if c.Weights != "" {
		word, text, hasSeed := strings.Cut(c.Weights, ":")
		seed := uint64(0)
		if hasSeed {
			seed, err = strconv.ParseUint(text, 10, 64)
		}
		if word != "random" || err != nil {
			return config, usagef("--weights %s: expected random, or random and a seed, a whole number, as in random:7", c.Weights)
		}
		config.RandomWeights = &seed
	}
	return config, nil
}

// open opens a model and finds the function. What it returns closes the model again.
func (c *modelFlags) open(call *invocation, config espalier.Config, model string) (f *espalier.Function, closeModel func(), err error) {
	path, err := call.file(model)
	if err != nil {
		return nil, nil, err
	}
	config.Pass = call.bar.passes()
	m, err := config.Open(path)
	if errors.Is(err, espalier.ErrNumerics) || errors.Is(err, espalier.ErrUnits) || errors.Is(err, espalier.ErrTarget) {
		return nil, nil, usageError{err}
	}
	if err != nil {
		return nil, nil, err
	}
	closeModel = func() {
		if call.Err() == nil { // an interrupted prediction may still be reading the model
			m.Close()
		}
	}
	if f, err = m.Function(c.Function); err != nil {
		closeModel()
		return nil, nil, usagef("%s: %w", shown(model), err)
	}
	call.warn(f.Warnings())
	return f, closeModel, nil
}
