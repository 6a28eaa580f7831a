package espalier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/gate"
)

// Errors about a model that is open, to be tested with errors.Is.
var (
	// ErrClosed is wrapped by the errors of a model that is closed, and of its functions, states and programs.
	ErrClosed = e5rt.ErrClosed
	// ErrBusy is wrapped by the error about a state that another prediction has: nobody knows which was meant to come first.
	ErrBusy = e5rt.ErrBusy
	// ErrFileChanged is wrapped by the errors about a file of the model that was written to while it was open: see
	// Config.Weights. The error is a *FileError. The model is of no use any more; open it again.
	ErrFileChanged = e5rt.ErrFileChanged
)

// A FileError says what is wrong with a file of a model that is open: it was written to (ErrFileChanged), or a page of it cannot
// be read.
type FileError = e5rt.FileError

// A lifetime is what all that uses the files of an open model shares.
//
//	place, err := l.enter(ctx)
//	…
//	defer l.leave(place, &err)
//	defer osfile.Protect().Catch(&err)
//
// A stage of a pipeline has none: its pipeline has entered.
type lifetime struct {
	files interface {
		io.Closer
		Changed() error // says of a mapped file that was written to that it was
	}
	gate gate.Gate

	mu   sync.Mutex
	kept []io.Closer // that are closed with the files
}

// keep closes something when the files are closed.
func (l *lifetime) keep(c io.Closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, c)
}

// release closes everything.
func (l *lifetime) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []error{l.files.Close()}
	for _, c := range l.kept {
		all = append(all, c.Close())
	}
	l.kept = nil
	return errors.Join(all...)
}

// enter begins a use of the files, which ends with the context if it has to.
func (l *lifetime) enter(ctx context.Context) (place int, err error) {
	if l == nil {
		return 0, nil
	}
	place, open := l.gate.Enter(ctx)
	if !open {
		return 0, ErrClosed
	}
	if err := l.files.Changed(); err != nil {
		l.gate.Leave(place)
		return 0, err
	}
	return place, nil
}

// leave ends a use of the files. What was made while they changed is worth nothing, and an error may be due to it.
func (l *lifetime) leave(place int, err *error) {
	if l == nil {
		return
	}
	if changed := l.files.Changed(); changed != nil && !errors.Is(*err, ErrFileChanged) {
		*err = changed
	}
	l.gate.Leave(place)
}

func (l *lifetime) close() error {
	err := l.gate.Close(l.release)
	if errors.Is(err, gate.ErrInside) {
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}
