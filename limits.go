package espalier

import (
	"context"
	"errors"
	"time"

	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// Limits are how much a model, or an input, may ask for. A file of a few bytes can describe an array larger than any
// memory, or a loop without an end: what would go beyond a limit is refused with a LimitError, before memory is taken
// and before work begins. Zero is the default of each.
type Limits struct {
	// Memory is how many bytes the arrays of one prediction may take at a time, and those that are made while a model is
	// opened, compiled and loaded. What several predictions hold at the same time is several times as much, and the weights
	// of a model, which are mapped from its file, do not count. By default it is GOMEMLIMIT, and at most half of what the
	// machine, the control group and the limits of the process let the process have.
	Memory int64

	// Steps is how much a prediction may compute: multiplications and additions for the most part, counted before they are
	// done. By default it is 2^44, a few hours.
	Steps int64

	// Compile is how long compiling a function for one set of shapes may take. By default it has no end but that of its
	// context.
	Compile time.Duration
}

// LimitError says what asked for more than a limit allows: how much was asked for, how much of what is allowed is in use,
// and how much is allowed, in bytes ("memory"), steps ("steps") or nanoseconds ("compile").
type LimitError = limit.Error

// ErrLimit is what every LimitError is, for errors.Is.
var ErrLimit = limit.ErrExceeded

// use is how much a prediction may need.
func (l Limits) use() limit.Limits { return limit.Limits{Memory: l.Memory, Steps: l.Steps} }

// memory is how many bytes may be taken.
func (l Limits) memory() int64 { return l.use().MaxMemory(osfile.MemoryLimit) }

// room refuses what needs more bytes than may be taken.
func (l Limits) room(what string, need float64) error {
	if allowed := l.memory(); need > float64(allowed) {
		return &LimitError{Resource: limit.Memory, What: what, Asked: limit.Clamp(need), Allowed: allowed}
	}
	return nil
}

// compile calls f with a context that ends when compiling may take no longer.
func (l Limits) compile(ctx context.Context, f func(ctx context.Context) error) error {
	if l.Compile <= 0 {
		return f(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, l.Compile)
	defer cancel()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil && errors.Is(err, limited.Err()) {
		return &LimitError{Resource: limit.Compile, What: "compiling", Allowed: int64(l.Compile)}
	}
	return err
}

// isCompileLimit reports whether compiling took too long, which it may not the next time.
func isCompileLimit(err error) bool {
	e, ok := errors.AsType[*LimitError](err)
	return ok && e.Resource == limit.Compile
}
