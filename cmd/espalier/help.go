package main

import "os"

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"A command, as in espalier help run. Default: all commands in short."`
}

func (c *helpCmd) Run(call *invocation) error {
	args := append(c.Command, "--help")
	if _, err := newParser(call.stdout, os.Stderr).Parse(args); err != nil {
		return usageError{explainUsage(args, err)}
	}
	return nil
}
