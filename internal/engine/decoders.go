package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	v256 "github.com/espalier-ane/espalier/internal/engine/v256"
	v7 "github.com/espalier-ane/espalier/internal/engine/v7"
	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A Decoder reads the tasks of one version in a program, in the order of the
// list. What a task does is plain data after that: nothing else in this package
// knows a version.
type Decoder interface {
	// Decode reads a task: an operation of the array or the planar engine, or a
	// strided one; the other is nil. An error about a field is a *td.FieldError.
	Decode(*td.Task) (*units.Op, *td.Op, error)

	// Field returns the field that a part of the last operation of the units came
	// from, and what stands in it: for errors that are found later. It is nil if
	// there is none such.
	Field(units.Part) (*td.Field, uint32)
}

// decoders make the decoders of the versions that are executed. A new one is a
// folder and a row. It is replaced, not changed.
var decoders atomic.Pointer[map[td.Version]func() Decoder]

func init() {
	decoders.Store(&map[td.Version]func() Decoder{
		td.V7:   func() Decoder { return v7.New() },
		td.V256: func() Decoder { return v256.Decoder{} },
	})
}

// AddDecoder makes the decoder of another version known, until it is removed
// again: for tests, of versions that are made up.
func AddDecoder(v td.Version, make func() Decoder) (remove func()) {
	with := maps.Clone(*decoders.Load())
	if with[v] != nil {
		panic("bug: there is a decoder of " + v.String())
	}
	with[v] = make
	decoders.Store(&with)
	return func() {
		without := maps.Clone(*decoders.Load())
		delete(without, v)
		decoders.Store(&without)
	}
}

// bind decodes and binds the tasks of a program, unless the context ends before.
func (p *Program) bind(ctx context.Context, tasks []td.Placed) error {
	known, made := *decoders.Load(), make(map[td.Version]Decoder)
	for i, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		d := made[t.Version]
		if d == nil {
			if known[t.Version] == nil {
				return programError("tasks of %v are not executed", t.Version)
			}
			d = known[t.Version]()
			made[t.Version] = d
		}
		unit, strided, err := d.Decode(t.Task)
		switch {
		case err != nil:
		case unit != nil:
			err = p.addUnit(unit)
		default:
			err = p.addOperation(strided)
		}
		if err != nil {
			return taskError(i, d, err)
		}
		p.describe(i, unit, strided)
	}
	return nil
}

// A partError is about a part of an operation of the units.
type partError struct {
	part units.Part
	msg  string
}

func (e *partError) Error() string { return e.msg }

func refuse(part units.Part, format string, args ...any) error {
	return &partError{part, fmt.Sprintf(format, args...)}
}

// taskError says which task an error is about, and which field of it.
func taskError(task int, d Decoder, err error) error {
	e := &Error{Task: task, Msg: err.Error()}
	if limited, ok := errors.AsType[*limit.Error](err); ok {
		e.Err = limited
	}
	var field *td.FieldError
	var part *partError
	switch {
	case errors.As(err, &field):
		e.Field, e.Value, e.Msg = field.Field, field.Value, field.Msg
	case errors.As(err, &part):
		e.Field, e.Value = d.Field(part.part)
	}
	return e
}
