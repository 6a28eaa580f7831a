package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/graphfile"
)

type compileCmd struct {
	Model string `arg:"" optional:"" help:"A package (.mlpackage, also zipped), model (.mlmodel), compiled model (.mlmodelc), MIL text (.mil) or graph of native layers (.anec, .plist); - is standard input."`

	Target       string   `short:"t" default:"virtual" placeholder:"T" help:"The engine to compile for: virtual, or a chip or device as m1, h13g or iPhone17,1, which espalier targets lists. Default: virtual."`
	Strict       bool     `help:"Refuse a program with tasks that the chip itself could not run, since their encoding is not known."`
	Output       string   `short:"o" placeholder:"OUT" help:"Write a bundle (OUT.bundle) or, of a program whose functions are one segment on the engine each, a hardware container (OUT.hwx, or - for standard output) with a procedure for each, or the native layers of its segments with their weights (OUT.anec, OUT.weights), to be edited and compiled: as they were lowered, or as --emit anec or a pass has them. One that is there is replaced, nothing else is. Default: a bundle with the name of the model, in the current folder."`
	OneContainer bool     `name:"one-container" help:"Give the bundle one container with a procedure for each segment of the engine, instead of a container for each."`
	Units        string   `default:"all" placeholder:"U" help:"What may run the model: all, the engine and the host for what the engine does not take; ane, the engine alone. Default: all."`
	Function     string   `placeholder:"NAME" help:"Compile this function alone instead of all."`
	Emit         []string `sep:"none" placeholder:"FORM" help:"Print the program on its way: mil, the operations with where they run; anec, the native layers that get memory; memory, where everything lies; tasks, what each computes; td, their words and fields; all of these; picture, a drawing of memory over the tasks, as SVG, one for each segment; or the name of a pass, the layers after it. Nothing is written unless -o says where. netplist writes the layers as they were lowered, before any pass, as a network description that can be edited and compiled: -o is its folder."`
	Passes       bool     `help:"List the passes, with a model also how long each took. Nothing is written unless -o says where."`
	JSON         bool     `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

func (c *compileCmd) Run(call *invocation) error {
	if err := c.check(); err != nil {
		return err
	}
	if _, err := call.takeTarget(c.Target); err != nil {
		return usagef("--target: %w", err)
	}
	if c.Model == "" {
		return c.report(call, compileReport{Passes: newPassReports(nil)})
	}
	if c.Output == standard {
		if _, err := call.binaryOutput(); err != nil {
			return err
		}
	}
	path, err := call.file(c.Model)
	if err != nil {
		return err
	}
	model, err := espalier.Config{Units: espalier.Units(c.Units)}.Open(path)
	if err != nil {
		return err
	}
	defer func() {
		if call.Err() == nil { // an interrupted compilation may still be reading the model
			model.Close()
		}
	}()
	f, err := model.Function(c.Function)
	if err != nil {
		return usagef("%s: %w", shown(c.Model), err)
	}
	call.warn(f.Warnings())

	bar := call.bar
	start := time.Now()
	compiled := &compilation{forms: c.forms()}
	if isGraphName(c.Output) && len(c.Emit) > 0 {
		compiled.graphs = graphfile.NewText(c.Output)
	}
	if err := compiled.make(call, model, espalier.CompileOptions{Target: c.Target, Function: c.Function, Strict: c.Strict, OneContainer: c.OneContainer}, bar); err != nil {
		return err
	}
	report := compiled.report(c.Model, targetName(c.Target))
	report.warn(f.Warnings())
	if c.Output == standard {
		bar.end()
		return compiled.program.WriteContainerTo(call, call.stdout)
	}
	if output := c.output(); output != "" {
		bar.set(1, 1, "writing "+output)
		if err := compiled.write(call, output, &report); err != nil {
			return err
		}
		report.TimeMS = float64(time.Since(start).Microseconds()) / 1000
		if isGraphName(output) || slices.Contains(c.Emit, emitNetplist) {
			bar.end()
			return c.report(call, report)
		}
	}
	report.TimeMS = float64(time.Since(start).Microseconds()) / 1000
	if c.Passes {
		report.Passes = newPassReports(compiled.times)
	}
	bar.end()
	if len(c.Emit) > 0 {
		return compiled.emit(call.stdout)
	}
	return c.report(call, report)
}

// check refuses a wrong command line, and an output that would be refused after the work.
func (c *compileCmd) check() error {
	if c.Model == "" && (!c.Passes || c.Output != "" || len(c.Emit) > 0 || c.Function != "") {
		return usagef("expected \"<model>\"\nespalier compile -h shows what it takes")
	}
	if len(c.Emit) > 0 && (c.JSON || c.Passes) {
		return usagef("--emit prints text: neither --json nor --passes goes with it")
	}
	switch units, err := espalier.ParseUnits(c.Units); {
	case err != nil:
		return usagef("--units: %w", err)
	case units == espalier.CPUOnly:
		return usagef("--units %s leaves the engine out, and there is nothing to compile for: expected %s or %s", units, espalier.AllUnits, espalier.EngineOnly)
	}
	for _, form := range c.Emit {
		if !slices.Contains(emitForms, form) && form != emitAll && form != emitPicture && form != emitNetplist && passNamed(form) == nil {
			return usagef("--emit %s: there is no such form and no such pass: expected %s, %s, %s, %s or a pass, which --passes lists", form, strings.Join(emitForms, ", "), emitPicture, emitNetplist, emitAll)
		}
	}
	if slices.Contains(c.Emit, emitNetplist) {
		return c.checkNetplist()
	}
	switch {
	case c.Output == standard && (c.JSON || c.Passes || len(c.Emit) > 0):
		return usagef("-o %s: the container goes to standard output, where --json, --passes and --emit print: choose a file", standard)
	case c.Output == standard:
		return nil
	case c.Output == "" && c.Model == standard && !c.Passes && len(c.Emit) == 0:
		return usagef("a model from standard input has no name that a bundle could have: say with -o where it goes")
	}
	if isGraphName(c.Output) {
		return c.checkGraphs()
	}
	if c.Output != "" && !isContainerName(c.Output) && !strings.EqualFold(filepath.Ext(c.Output), bundleExtension) {
		return usagef("-o %s: the name must end in %s, %s or %s", c.Output, bundleExtension, containerExtension, graphfile.Extension)
	}
	if output := c.output(); output != "" {
		return checkCompileOutput(output)
	}
	return nil
}

// checkNetplist holds the command line to what --emit netplist takes.
func (c *compileCmd) checkNetplist() error {
	if len(c.Emit) > 1 || c.Output == "" || c.Output == standard || isContainerName(c.Output) || isGraphName(c.Output) || c.JSON {
		return usagef("--emit %s writes a folder: it takes -o FOLDER, and no other form", emitNetplist)
	}
	if err := checkFolder(c.Output); err != nil {
		return err
	}
	return graphfile.CheckFolder(c.Output)
}

// checkGraphs holds the command line to what -o OUT.anec takes.
func (c *compileCmd) checkGraphs() error {
	if len(c.Emit) > 1 || len(c.Emit) == 1 && c.Emit[0] != emitLayers && !hasLayers(c.Emit[0]) {
		return usagef("-o %s writes native layers: of --emit it takes %s or one pass of fusion or legalization", c.Output, emitLayers)
	}
	if err := checkFolder(c.Output); err != nil {
		return err
	}
	return graphfile.CheckText(c.Output)
}

// checkFolder refuses a path in a folder that is not there.
func checkFolder(path string) error {
	folder := filepath.Dir(filepath.Clean(path))
	if parent, err := os.Stat(folder); err != nil || !parent.IsDir() {
		return fmt.Errorf("cannot write %s: there is no folder %s", path, folder)
	}
	return nil
}

// targetName is the name of the row that a name or an alias means.
func targetName(name string) string {
	t, err := hal.Lookup(name)
	if err != nil {
		panic("bug: " + err.Error()) // check has found it
	}
	return t.Name
}

const (
	bundleExtension    = ".bundle"
	containerExtension = ".hwx"
)

func isGraphName(path string) bool { return strings.EqualFold(filepath.Ext(path), graphfile.Extension) }

func isContainerName(path string) bool {
	return strings.EqualFold(filepath.Ext(path), containerExtension)
}

// output is what is written; "" for nothing.
func (c *compileCmd) output() string {
	if c.Output != "" || c.Model == "" || c.Passes || len(c.Emit) > 0 {
		return c.Output
	}
	return bundleName(c.Model)
}

// bundleName is the name of a model's bundle: that of the model, in the current folder.
func bundleName(model string) string {
	if full, err := filepath.Abs(model); err == nil { // "." has a name too
		model = full
	}
	name := filepath.Base(model)
	for _, extension := range []string{".zip", ".mlpackage", ".mlmodelc", ".mlmodel", ".mil", ".anec", ".plist"} {
		if base := name[:max(0, len(name)-len(extension))]; base != "" && strings.EqualFold(name[len(base):], extension) {
			name = base
		}
	}
	return name + bundleExtension
}

// checkCompileOutput refuses to replace what is not ours.
func checkCompileOutput(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return checkFolder(path)
	}
	if isContainerName(path) {
		if !info.Mode().IsRegular() || !hwx.IsContainerFile(path) {
			return fmt.Errorf("%s exists and is no hardware container: it is not replaced", path)
		}
	} else if !info.IsDir() || !bundle.IsBundle(path) {
		return fmt.Errorf("%s exists and is no bundle: it is not replaced", path)
	}
	return nil
}

// forms are what --emit asks for, each once.
func (c *compileCmd) forms() []string {
	var forms []string
	for _, form := range c.Emit {
		list := []string{form}
		if form == emitAll {
			list = emitForms
		}
		for _, f := range list {
			if !slices.Contains(forms, f) {
				forms = append(forms, f)
			}
		}
	}
	return forms
}

// A compilation is a model on its way, with what is to be said of it.
type compilation struct {
	forms   []string // of --emit
	program *espalier.Program
	times   map[string]time.Duration     // by pass
	texts   map[string]map[string]string // by segment and form: layers and memory, as passes leave them
	graphs  *graphfile.Text              // of layers with their weights, that -o asks for in a form of --emit; nil if it does not
}

// make compiles a model. It does not keep an interrupted user waiting: passes do not ask whether to go on. What is left behind
// ends with the process.
func (c *compilation) make(ctx context.Context, model *espalier.Model, options espalier.CompileOptions, bar *progress) error {
	c.times, c.texts = map[string]time.Duration{}, map[string]map[string]string{}
	show := bar.passes()
	options.Pass = func(p espalier.PassReport) {
		show(p)
		c.times[p.Pass] += p.Took
		c.keep(p)
	}
	bar.set(0, 1, "placing")
	err := await(ctx, func() (err error) {
		c.program, err = model.Compile(ctx, options)
		return err
	})
	return cmp.Or(err, ctx.Err())
}

// write writes the bundle or the container and completes the report.
func (c *compilation) write(call *invocation, path string, r *compileReport) error {
	r.Output = path
	if slices.Contains(c.forms, emitNetplist) {
		found, err := c.program.WriteNetplist(call, path)
		if err != nil {
			return err
		}
		call.warn(found)
		r.Bytes, err = folderSize(path)
		return err
	}
	if isGraphName(path) {
		return c.writeGraphs(call, path, r)
	}
	ctx := call.Context
	if isContainerName(path) {
		if err := c.program.WriteContainer(ctx, path); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		r.Bytes = info.Size()
		return nil
	}
	var err error
	if r.ID, err = c.program.WriteBundle(ctx, path); err != nil {
		return err
	}
	r.Bytes, err = folderSize(path)
	return err
}

// writeGraphs writes the layers as they were lowered, or as a form of --emit has them.
func (c *compilation) writeGraphs(ctx context.Context, path string, r *compileReport) (err error) {
	if c.graphs == nil {
		err = c.program.WriteGraphs(ctx, path)
	} else {
		for _, f := range c.program.Functions() {
			for _, s := range f.Segments {
				name := s.Name
				if len(f.Segments) == 1 {
					name = f.Name
				}
				if s.Container != nil {
					c.graphs.Add(name, c.texts[s.Name][c.forms[0]])
				}
			}
		}
		err = c.graphs.Write()
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil {
		r.Bytes = info.Size()
	}
	return err
}

// folderSize is the size of the files in a folder.
func folderSize(folder string) (size int64, err error) {
	err = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
