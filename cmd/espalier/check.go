package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/osfile"
)

type checkCmd struct {
	Model string `arg:"" help:"A package (.mlpackage, also zipped), model (.mlmodel), compiled model (.mlmodelc) or MIL text (.mil), whose weight files need not be there, or a graph of native layers (.anec, .plist). - is standard input."`

	Target   string `short:"t" placeholder:"T,…" help:"Targets, chips or devices with commas between them, or all. Default: the base chips h13g to h18g, M1 to M6. espalier targets lists them."`
	Route    string `placeholder:"R" help:"converted, authored or both. A chip has other gates for operations that are converted from a model than for layers of a network description: authored judges a model as if it were written as one, both says what that would win. Default: converted for a model, authored for a network description."`
	Require  string `placeholder:"ane[:T,…]" help:"Exit with 3 if the host has to run an operation, on any of the targets or on these."`
	Function string `placeholder:"NAME" help:"Check this function alone instead of all."`
	Format   string `default:"text" placeholder:"F" help:"text, json (docs/json.md has the schema), md (for a pull request), html (one page) or sarif. Default: text."`
	Output   string `short:"o" placeholder:"F" help:"Write the report to a file. An earlier report that is there is replaced, nothing else is. - is standard output, as without it."`
}

// errRequired is wrapped by the error that --require is not met.
var errRequired = errors.New("not every operation runs on the engine")

// checkFormats are the forms of a report.
var checkFormats = []struct {
	name  string
	write func(io.Writer, *check.Report) error
}{
	{"text", func(w io.Writer, r *check.Report) error { return r.WriteText(w) }},
	{"json", func(w io.Writer, r *check.Report) error { return r.WriteJSON(w) }},
	{"md", func(w io.Writer, r *check.Report) error { return r.WriteMarkdown(w) }},
	{"html", func(w io.Writer, r *check.Report) error { return r.WriteHTML(w) }},
	{"sarif", writeSARIF},
}

func (c *checkCmd) Run(call *invocation) error {
	write, err := c.format()
	if err != nil {
		return err
	}
	route, err := check.ParseRoute(c.Route)
	if err != nil {
		return usagef("--route: %w", err)
	}
	if c.Model == standard && c.Format == "sarif" {
		return usagef("--format sarif says in which file a finding is: standard input is none")
	}
	if c.Output == standard {
		c.Output = ""
	}
	names, targets, required, err := c.targets()
	if err != nil {
		return err
	}
	if err := c.checkOutput(); err != nil {
		return err
	}
	path, err := call.file(c.Model)
	if err != nil {
		return err
	}
	r, err := check.File(call, path, check.Options{Targets: targets, Names: names, Function: c.Function, Route: route, Progress: call.bar.set})
	if _, missing := errors.AsType[*check.FunctionError](err); missing {
		return usageError{err}
	}
	if _, other := errors.AsType[*check.RouteError](err); other {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if c.Model == standard {
		r.Rename(standardName)
	}
	call.warn(r.Warnings)
	if c.Output != "" {
		err = osfile.WriteAtomic(c.Output, func(w io.Writer) error { return write(w, r) })
	} else {
		err = write(call.stdout, r)
	}
	if err != nil {
		return err
	}
	return unmet(r, required)
}

func (c *checkCmd) format() (func(io.Writer, *check.Report) error, error) {
	var names []string
	for _, f := range checkFormats {
		if f.name == c.Format {
			return f.write, nil
		}
		names = append(names, f.name)
	}
	return nil, usagef("--format %s: expected %s or %s", c.Format, strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}

// targets are those to check, the names that they were asked for by, and those of them that --require is about.
func (c *checkCmd) targets() (names []hal.Choice, all, required []*hal.Target, err error) {
	all = hal.Base()
	if c.Target != "" {
		if names, err = hal.ParseChoices(c.Target); err != nil {
			return nil, nil, nil, usagef("--target: %w", err)
		}
		all = hal.AllReadings(names)
	}
	if c.Require == "" {
		return names, all, nil, nil
	}
	what, list, some := strings.Cut(c.Require, ":")
	if what != "ane" {
		return nil, nil, nil, usagef("--require %s: expected ane or ane:TARGET,…", c.Require)
	}
	if !some {
		return names, all, all, nil
	}
	more, err := hal.ParseChoices(list)
	if err != nil {
		return nil, nil, nil, usagef("--require: %w", err)
	}
	required = hal.AllReadings(more)
	for _, t := range required {
		switch {
		case slices.Contains(all, t):
		case c.Target != "":
			return nil, nil, nil, usagef("--require %s and --target %s: %s is not among the targets to check", c.Require, c.Target, t.Name)
		default:
			all = append(all, t)
		}
	}
	if c.Target == "" {
		names = more
	}
	return names, all, required, nil
}

// checkOutput refuses to replace what is not ours.
func (c *checkCmd) checkOutput() error {
	if c.Output == "" {
		return nil
	}
	info, err := os.Stat(c.Output)
	if err != nil {
		folder := filepath.Dir(c.Output)
		if parent, err := os.Stat(folder); err != nil || !parent.IsDir() {
			return fmt.Errorf("cannot write %s: there is no folder %s", c.Output, folder)
		}
		if _, err := os.Lstat(c.Output); err == nil {
			return fmt.Errorf("cannot write %s: it is a link to nothing", c.Output)
		}
		return nil
	}
	if model, err := os.Stat(c.Model); err == nil && os.SameFile(info, model) {
		return usagef("-o %s: the same command reads this file: choose another one", c.Output)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("cannot write %s: it exists and is not a file", c.Output)
	}
	switch ours, err := check.IsReportFile(c.Output); {
	case err != nil:
		return err
	case !ours:
		return fmt.Errorf("%s exists and is no report of this command: it is not replaced", c.Output)
	}
	return nil
}

// writeSARIF has the places of findings relative to the repository that the current folder is in.
func writeSARIF(w io.Writer, r *check.Report) error {
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	return r.WriteSARIF(w, root, newVersionReport().Version)
}

// repositoryRoot is the nearest folder upwards that a version control system keeps its files in, or else the current one.
func repositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		for _, mark := range []string{".git", ".hg", ".jj"} {
			if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
				return dir, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return start, nil
		}
	}
}

// unmet is the error that operations run on the host of targets that are required to do without.
func unmet(r *check.Report, required []*hal.Target) error {
	if lines := r.OnHost(required); len(lines) > 0 {
		return fmt.Errorf("%w, as --require demands:\n  %s", errRequired, strings.Join(lines, "\n  "))
	}
	return nil
}
