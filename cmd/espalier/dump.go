package main

import (
	"errors"

	"github.com/espalier-ane/espalier/explain/dump"
)

type dumpCmd struct {
	File string `arg:"" help:"A hardware container (.hwx), dispatch descriptor (E5), bundle, firmware container, model, MIL text, weight file or array (npz, npy). What it is, its content says."`
	JSON bool   `name:"json" xor:"form" help:"Print JSON; docs/json.md has the schema."`
	Raw  bool   `xor:"form" help:"Print the file's words in hexadecimal, with their places."`
}

func (c *dumpCmd) Run(call *invocation) error {
	if c.Raw {
		err := dump.Raw(call.stdout, c.File)
		if errors.Is(err, dump.ErrFolder) {
			return usagef("--raw %w", err)
		}
		return err
	}
	r, broken := dump.File(c.File)
	if r == nil {
		return broken
	}
	write := r.WriteText
	if c.JSON {
		write = r.WriteJSON
	}
	return errors.Join(write(call.stdout), broken, r.Close())
}
