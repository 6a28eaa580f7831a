package osfile

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// ErrChanged is wrapped by the errors about a file that was written to while it
// was mapped.
var ErrChanged = errors.New("the file was changed while it was in use: put a new file in its place by renaming, never write into it")

// ErrUnreadable is wrapped by the errors about a page of a mapped file that
// cannot be had, though the file has not changed: the disk is to blame, or the
// network.
var ErrUnreadable = errors.New("a page of the file cannot be read")

// A FileError says what is wrong with a file that is mapped.
type FileError struct {
	Path string
	Err  error // wraps ErrChanged or ErrUnreadable, or is that of the system
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// A Guard is what Protect returns.
type Guard struct{ before bool }

// Protect makes a fault in a mapped file an error of the function that defers
//
//	defer osfile.Protect().Catch(&err)
//
// instead of the end of the process. It holds for this goroutine; a loop of
// package pool hands on what its workers meet. Everything that reads mapped bytes
// stands under such a line, and must release its locks when it panics.
func Protect() Guard { return Guard{debug.SetPanicOnFault(true)} }

// Catch sets the error if the function panics for a fault in a mapped file. All
// other panics go on.
func (g Guard) Catch(err *error) {
	v := recover()
	debug.SetPanicOnFault(g.before)
	if v == nil {
		return
	}
	fault := faultOf(v)
	if fault == nil {
		panic(v) // re-raise
	}
	*err = fault
}

// faultOf is the error of a panic for a fault in a mapped file, nil for others.
func faultOf(v any) error {
	err, ok := v.(error)
	if !ok {
		return nil
	}
	fault, ok := errors.AsType[interface {
		runtime.Error
		Addr() uintptr
	}](err)
	if !ok {
		return nil
	}
	mappings.Lock()
	defer mappings.Unlock()
	for sys, m := range mappings.all {
		at := fault.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(sys.data)))
		if at >= uintptr(len(sys.data)) {
			continue
		}
		if err := m.changed(sys); err != nil {
			return err
		}
		return &FileError{m.path, fmt.Errorf("%w: at byte %#x", ErrUnreadable, at)}
	}
	return nil
}

// mappings are all that there are, to find the file of an address.
var mappings struct {
	sync.Mutex
	all map[*mapped]*Mapping
}

func remember(sys *mapped, m *Mapping) {
	mappings.Lock()
	defer mappings.Unlock()
	if mappings.all == nil {
		mappings.all = map[*mapped]*Mapping{}
	}
	mappings.all[sys] = m
}

// forget comes before the memory is released: another mapping may lie there next.
func forget(sys *mapped) {
	mappings.Lock()
	defer mappings.Unlock()
	delete(mappings.all, sys)
}

// Mapped counts the mappings of the process.
func Mapped() int {
	mappings.Lock()
	defer mappings.Unlock()
	return len(mappings.all)
}
