// Package limit says how much a model may ask for, and has the error about one that asks for more. It does not know who
// asks.
package limit

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Limits are what an evaluation, a program or a file may need. Zero is the default.
type Limits struct {
	Memory int64 // bytes at a time
	Steps  int64 // multiplications, additions and the like of one run
}

// DefaultSteps is more than a network has that fits the memory of a machine, and a few hours.
const DefaultSteps = 1 << 44

// MaxSteps is how many steps a run may have.
func (l Limits) MaxSteps() int64 {
	if l.Steps > 0 {
		return l.Steps
	}
	return DefaultSteps
}

// MaxMemory is how many bytes may be needed at a time. By default it is as many as the process may have.
func (l Limits) MaxMemory(byDefault func() int64) int64 {
	if l.Memory > 0 {
		return l.Memory
	}
	return byDefault()
}

// ErrExceeded is wrapped by every Error.
var ErrExceeded = errors.New("beyond the limit")

// Error says what was asked for and what is allowed.
type Error struct {
	Resource Resource
	What     string // that needs it: "fp32[1, 4096, 4096]", "array x"
	Asked    int64  // in the unit of the resource, MaxInt64 if it is more; 0 if nobody knows
	InUse    int64  // how much of what is allowed others have
	Allowed  int64
}

// Resource is what there is a limit of.
type Resource string

// The resources.
const (
	Memory  Resource = "memory"  // in bytes
	Steps   Resource = "steps"   // multiplications, additions and the like
	Compile Resource = "compile" // the time that compiling takes, in nanoseconds
)

func (e *Error) Error() string {
	text := ""
	switch e.Resource {
	case Memory:
		text = fmt.Sprintf("%s does not fit in memory: it needs %s, and the limit is %s", e.What, bytes(e.Asked), bytes(e.Allowed))
		if e.InUse > 0 {
			text += fmt.Sprintf(", %s of them in use", bytes(e.InUse))
		}
	case Steps:
		text = fmt.Sprintf("%s is too much work: %.3g steps, and the limit is %.3g", e.What, float64(e.Asked), float64(e.Allowed))
		if e.InUse > 0 {
			text += fmt.Sprintf(", %.3g of them done", float64(e.InUse))
		}
	case Compile:
		text = fmt.Sprintf("%s takes longer than the limit of %v", e.What, time.Duration(e.Allowed))
	}
	return text
}

// Is makes errors.Is(err, ErrExceeded) true.
func (e *Error) Is(target error) bool { return target == ErrExceeded }

// bytes writes a size with its unit.
func bytes(n int64) string {
	for i, unit := range []string{"EiB", "PiB", "TiB", "GiB", "MiB"} {
		if shift := 60 - 10*i; n >= 1<<shift {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(int64(1)<<shift), unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Clamp is a number of steps or bytes, counted as a float, as an int64.
func Clamp(n float64) int64 {
	if !(n < math.MaxInt64) {
		return math.MaxInt64
	}
	return int64(n)
}
