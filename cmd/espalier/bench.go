package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/espalier-ane/espalier/explain/bench"
	"github.com/espalier-ane/espalier/internal/osfile"
)

type benchCmd struct {
	Model string `arg:"" help:"What run takes: a package, model, compiled model, MIL text, graph of native layers, bundle or hardware container; - is standard input. Inputs not given are random."`

	inputFlags `embed:""`
	modelFlags `embed:""`

	Threads  int           `placeholder:"N" help:"The threads of a prediction. Default: as many as there are processors."`
	Streams  []int         `placeholder:"N,…" help:"How many predictions are under way at once, to see how many a second there are. Default: 1, 2, 4 … up to the processors."`
	Batch    []int         `placeholder:"N,…" help:"How many examples a prediction has, if the model takes several. Default: 1,2,4,8."`
	Duration time.Duration `default:"1s" placeholder:"D" help:"How long each measurement goes on, as 500ms or 3s. Default: 1s."`
	Repeat   int           `placeholder:"N" help:"Instead, how many predictions each measurement has."`
	Budget   bool          `help:"Measure instead where the time of a prediction goes: binding and copies, building the request, kick, engine, completion; on the caller's thread and through a stream, the first prediction apart."`
	Compare  string        `placeholder:"FILE" help:"Hold the figures against those of an earlier bench --json of the model: a ratio above 1 is better now."`
	JSON     bool          `name:"json" help:"Print JSON; docs/json.md has the schema."`
	Format   string        `placeholder:"F" help:"text, json, or html: one page with the tasks under the roofline of the machine. Default: text, or what the name of -o says."`
	Output   string        `short:"o" placeholder:"F" help:"Write the report to a file, and replace what is there. - is standard output, as without it."`
}

// benchFormats are the forms of a report.
var benchFormats = []struct {
	name  string
	write func(*bench.Report, io.Writer) error
}{
	{"text", (*bench.Report).WriteText},
	{"json", (*bench.Report).WriteJSON},
	{"html", (*bench.Report).WriteHTML},
}

func (c *benchCmd) Run(call *invocation) error {
	write, err := c.format()
	if err != nil {
		return err
	}
	specs, err := c.parse()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	config, err := c.config(call, c.Resize)
	if err != nil {
		return err
	}
	config.Threads = c.Threads
	before, err := c.before()
	if err != nil {
		return err
	}
	began := time.Now()
	f, closeModel, err := c.open(call, config, c.Model)
	if err != nil {
		return err
	}
	defer closeModel()
	o := bench.Options{
		Model: shown(c.Model), Target: c.Target, Opened: time.Since(began),
		Duration: c.Duration, Repeat: c.Repeat, Threads: c.Threads, Streams: c.Streams, Batches: c.Batch, Budget: c.Budget, Progress: call.bar.set,
	}
	cases, err := c.cases(call, f, c.filled(specs))
	if err != nil {
		return err
	}
	r, failed := bench.Measure(call, f, cases[0].inputs, o)
	if failed != nil && !r.Interrupted {
		return cases[0].explain(failed)
	}
	if before != nil {
		if r.Compared, err = bench.Compare(before, r, c.Compare); err != nil {
			return fmt.Errorf("--compare %s: %w", c.Compare, err)
		}
	}
	if c.Output != "" {
		if failed != nil { // half a report does not replace a whole one
			return failed
		}
		err = osfile.WriteAtomic(c.Output, func(w io.Writer) error { return write(r, w) })
	} else {
		err = write(r, call.stdout)
	}
	return errors.Join(err, failed) // of an interrupt, after what was measured until then
}

// check refuses numbers that mean nothing.
func (c *benchCmd) check() error {
	if len(c.Inputs) > 1 {
		return usagef("--inputs is given %d times: a bench runs one case", len(c.Inputs))
	}
	if c.Duration <= 0 {
		return usagef("--duration %v: expected more than 0", c.Duration)
	}
	if c.Budget && c.Compare != "" {
		return usagef("--budget and --compare: expected one of them")
	}
	if c.Repeat < 0 {
		return usagef("--repeat %d: expected 1 or more", c.Repeat)
	}
	if c.Threads < 0 {
		return usagef("--threads %d: expected 1 or more", c.Threads)
	}
	for _, list := range []struct {
		flag string
		of   []int
	}{{"streams", c.Streams}, {"batch", c.Batch}} {
		for _, n := range list.of {
			if n < 1 || n > maxStreams {
				return usagef("--%s %d: expected 1 to %d", list.flag, n, maxStreams)
			}
		}
	}
	return nil
}

// maxStreams bounds what takes memory for each.
const maxStreams = 1024

// filled adds to the flags one that fills every input not given, unless there is one.
func (c *benchCmd) filled(specs []inputSpec) []inputSpec {
	for _, s := range specs {
		if s.name == "" && s.file == "" {
			return specs
		}
	}
	random, err := parseInputSpec("random")
	if err != nil {
		panic("bug: " + err.Error())
	}
	return append(specs, random)
}

func (c *benchCmd) format() (func(*bench.Report, io.Writer) error, error) {
	if c.Output == standard {
		c.Output = ""
	}
	name := c.Format
	if c.JSON {
		if name != "" && name != "json" {
			return nil, usagef("--json and --format %s: expected one of them", name)
		}
		name = "json"
	}
	if name == "" {
		name = strings.TrimPrefix(filepath.Ext(c.Output), ".")
		if name != "json" && name != "html" {
			name = "text"
		}
	}
	for _, f := range benchFormats {
		if f.name == name {
			return f.write, nil
		}
	}
	return nil, usagef("--format %s: expected text, json or html", c.Format)
}

// before reads the report of --compare, nil if there is none.
func (c *benchCmd) before() (*bench.Report, error) {
	if c.Compare == "" {
		return nil, nil
	}
	file, err := os.Open(c.Compare)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	defer file.Close()
	r, err := bench.ReadJSON(file)
	if err != nil {
		return nil, fmt.Errorf("--compare %s: %w", c.Compare, err)
	}
	return r, nil
}
