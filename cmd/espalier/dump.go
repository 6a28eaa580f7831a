package main

import (
	"errors"

	"github.com/espalier-ane/espalier/explain/dump"
)

type dumpCmd struct {
	File string `arg:"" help:"A hardware container (.hwx), dispatch descriptor (E5), bundle, firmware container, model, MIL text, graph of native layers, weight file or array (npz, npy). What it is, its content says. - is standard input."`
	JSON bool   `name:"json" xor:"form" help:"Print JSON; docs/json.md has the schema."`
	Raw  bool   `xor:"form" help:"Print the file's words in hexadecimal, with their places."`
}

func (c *dumpCmd) Run(call *invocation) error {
	path, err := call.file(c.File)
	if err != nil {
		return err
	}
	if c.Raw {
		err := dump.Raw(call.stdout, path)
		if errors.Is(err, dump.ErrFolder) {
			return usagef("--raw %w", err)
		}
		return err
	}
	r, broken := dump.File(path)
	if r == nil {
		return broken
	}
	r.File = shown(c.File)
	switch m := r.Content.(type) {
	case *dump.Model:
		m.Model = r.File
	case *dump.Graphs:
		m.Model = r.File
	}
	write := r.WriteText
	if c.JSON {
		write = r.WriteJSON
	}
	return errors.Join(write(call.stdout), broken, r.Close())
}
