package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// exitBug is the exit code of a bug of ours.
const exitBug = 4

// reportBug is deferred by what runs a command line. Of a panic it says that it is a bug and how to report it, and sets the exit
// code.
func reportBug(args []string, stderr io.Writer, code *int) {
	v := recover()
	if v == nil {
		return
	}
	stack := debug.Stack()
	if p, ok := v.(*workPanic); ok {
		v, stack = p.value, p.stack
	}
	*code = exitBug
	r := newVersionReport()
	fmt.Fprintf(stderr, "espalier: bug: %s\n\n", strings.TrimPrefix(fmt.Sprint(v), "bug: "))
	fmt.Fprintln(stderr, "This is a bug in espalier, not in your model or your command. Please report it at")
	fmt.Fprintln(stderr, "https://github.com/espalier-ane/espalier/issues with what follows, and the model if you may share it.")
	fmt.Fprintf(stderr, "\nespalier %s\n%s %s, %s, %s\n\n%s", strings.Join(args, " "), r.Version, r.Revision, r.Go, r.Platform, stack)
}

// A workPanic is a panic of work that await has left to another goroutine.
type workPanic struct {
	value any
	stack []byte
}

// await does work that may not ask its context for long, and does not keep an interrupted user waiting: what is left behind ends
// with the process. A panic of it is one of the caller, which can report it.
func await(ctx context.Context, work func() error) error {
	done := make(chan any, 1) // an error, nil or a *workPanic
	go func() {
		defer func() {
			switch v := recover().(type) {
			case nil:
			case *workPanic: // of work within work
				done <- v
			default:
				done <- &workPanic{v, debug.Stack()}
			}
		}()
		done <- work()
	}()
	select {
	case end := <-done:
		if p, ok := end.(*workPanic); ok {
			panic(p) // re-raise
		}
		err, _ := end.(error)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
