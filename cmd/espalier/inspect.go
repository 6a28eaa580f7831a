package main

import (
	"errors"

	"github.com/espalier-ane/espalier/explain/model"
)

type inspectCmd struct {
	Model string `arg:"" help:"A package (.mlpackage, also zipped), model (.mlmodel), compiled model (.mlmodelc), MIL text (.mil), graph of native layers (.anec, .plist), bundle or hardware container (.hwx); - is standard input."`
	JSON  bool   `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

func (c *inspectCmd) Run(call *invocation) error {
	path, err := call.file(c.Model)
	if err != nil {
		return err
	}
	r, broken := model.File(path)
	if r == nil {
		return broken
	}
	r.Model = shown(c.Model)
	write := r.WriteText
	if c.JSON {
		write = r.WriteJSON
	}
	return errors.Join(write(call.stdout), broken)
}
