package main

import (
	"errors"
	"io"

	"github.com/espalier-ane/espalier/explain/layers"
)

type layersCmd struct {
	Kind string `arg:"" optional:"" help:"A kind of native layer: its type tag in a netplist or the name of its descriptor, as in Conv, Pool, SDPA …"`
	JSON bool   `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

func (c *layersCmd) Run(call *invocation) error {
	var r interface {
		WriteText(io.Writer) error
		WriteJSON(io.Writer) error
	} = layers.All()
	if c.Kind != "" {
		k, err := layers.Find(c.Kind)
		if _, unknown := errors.AsType[*layers.UnknownError](err); unknown {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		r = k
	}
	if c.JSON {
		return r.WriteJSON(call.stdout)
	}
	return r.WriteText(call.stdout)
}
