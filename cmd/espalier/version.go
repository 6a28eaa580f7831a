package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/espalier-ane/espalier/explain/report"
)

// version can be set when the command is built: -ldflags '-X main.version=v1.2.3'.
var version string

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

// versionReport is what version --json prints.
type versionReport struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

func newVersionReport() versionReport {
	r := versionReport{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if r.Version == "" && ok {
		r.Version = info.Main.Version
	}
	if r.Version == "" {
		r.Version = "(devel)"
	}
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				r.Revision = s.Value
			case "vcs.modified":
				r.Modified = s.Value == "true"
			}
		}
	}
	return r
}

func (c *versionCmd) Run(call *invocation) error {
	r := newVersionReport()
	if c.JSON {
		return report.WriteJSON(call.stdout, r)
	}
	_, err := fmt.Fprintln(call.stdout, r)
	return err
}

func (r versionReport) String() string {
	text := fmt.Sprintf("espalier %s, %s, %s", r.Version, r.Go, r.Platform)
	if r.Revision != "" {
		text += ", revision " + r.Revision
		if r.Modified {
			text += " with changes"
		}
	}
	return text
}

// versionFlag is --version, which every command takes: it prints the version and ends.
type versionFlag bool

// BeforeReset is called as soon as the flag is read, before what a command takes is missed.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	_, err := fmt.Fprintln(app.Stdout, newVersionReport())
	app.Exit(exitDone)
	return err
}
