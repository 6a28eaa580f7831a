// Command espalier compiles, runs and explains Core ML models, on any machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// commands is the command line. A command is a field, its flags are the fields of the command's type.
type commands struct {
	Run     runCmd     `cmd:"" help:"Run a model."`
	Check   checkCmd   `cmd:"" help:"Say which operations of a model run on which chip, which do not, why, and what to write instead."`
	Compile compileCmd `cmd:"" help:"Compile a model for the engine."`
	Inspect inspectCmd `cmd:"" help:"Show what a model takes and gives, its operations and its weights."`
	Dump    dumpCmd    `cmd:"" help:"Explain a file: container, descriptor, bundle, firmware, model, MIL text, graph, weights."`
	Bench   benchCmd   `cmd:"" help:"Measure how fast a model runs, and say where the time goes."`
	Layers  layersCmd  `cmd:"" help:"Show the native layers of the engine: fields, validators, and the first chip that has them."`
	Fit     fitCmd     `cmd:"" help:"Fit a table of 33 knots to a function of one number, and say how far it is off."`
	Targets targetsCmd `cmd:"" help:"Show the chips that there are and what is known of them."`
	Cache   cacheCmd   `cmd:"" help:"Show what is kept of compiled models, check it, or remove it."`
	Version versionCmd `cmd:"" help:"Show the version."`

	Completion completionCmd `cmd:"" help:"Print a script that completes commands and flags in a shell."`
	Help       helpCmd       `cmd:"" help:"Show what there is, or what a command takes."`

	ShowVersion versionFlag `name:"version" help:"Show the version."`
}

// invocation is what a command gets beside its flags.
type invocation struct {
	context.Context          // ends when the user interrupts
	args            []string // the arguments after the program's name
	stdin           io.Reader
	stdout          io.Writer
	bar             *progress // on stderr if that is a terminal
	notes           io.Writer // stderr: which reading of a disputed name was taken, why the cache is not used

	input standardInput
}

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1 // the job failed
	exitUsage    = 2 // the command line is wrong
	exitMismatch = 3 // --expect or --require is not met

	exitInterrupted = 130 // as shells have it: 128 and the number of the signal
)

// patience is how long a command may go on after an interrupt, to leave nothing behind.
const patience = time.Second

// usageError is an error of the command line itself.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errMismatch is wrapped by the error that --expect is not met.
var errMismatch = errors.New("the outputs do not match")

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// command runs a command line and returns the exit code. Errors go to stderr, and nothing else does but progress, if it is a
// terminal, which target was taken for a name on which sources disagree, and that the cache cannot be used.
func command(args []string, stdout, stderr io.Writer) (code int) {
	defer reportBug(args, stderr, &code)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process the hard way
	ended, end := context.WithCancel(context.Background())
	defer end()
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, end) })

	bar := newProgress(terminalOf(stderr))
	call := &invocation{Context: ctx, args: args, stdin: os.Stdin, stdout: beforeText{stdout, bar}, bar: bar, notes: stderr}
	defer call.input.remove()
	defer bar.end()
	err := await(ended, func() error { return dispatch(call, stdout, stderr) })
	bar.end()
	if err == nil {
		return exitDone
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(stderr, "espalier: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "espalier: %s\n", strings.TrimSuffix(call.input.rename(err.Error()), "\n"))
	var usage usageError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errMismatch), errors.Is(err, errRequired):
		return exitMismatch
	}
	return exitFailed
}

func dispatch(call *invocation, stdout, stderr io.Writer) (err error) {
	defer osfile.Protect().Catch(&err) // of a file that changes while it is read
	parser := newParser(stdout, stderr)
	chosen, err := parser.Parse(call.args)
	if err != nil {
		return usageError{explainUsage(call.args, err)}
	}
	return chosen.Run(call)
}

// newParser makes the parser of command lines, which writes help.
func newParser(stdout, stderr io.Writer) *kong.Kong {
	parser, err := kong.New(&commands{},
		kong.Name("espalier"),
		kong.Description("Espalier compiles and runs Core ML models on any machine."),
		kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		panic("bug: the command line: " + err.Error())
	}
	parser.Model.HelpFlag.Help = "Show this help."
	return parser
}

// explainUsage says of a command line that cannot be parsed where its help is.
func explainUsage(args []string, err error) error {
	parse, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return err
	}
	if node := parse.Context.Selected(); node != nil {
		return fmt.Errorf("%w\nespalier %s -h shows what it takes", err, node.Name)
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		err = fmt.Errorf("there is no command %q", args[0])
	}
	return fmt.Errorf("%w\nespalier -h shows the commands", err)
}
