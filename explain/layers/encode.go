package layers

import (
	"context"
	"errors"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/diag"
)

// encode compiles the example of a kind for a target and says what comes of it: native tasks, tasks
// of ours among its own, or none.
func encode(k anec.Kind, name string) (e Encoding) {
	target, err := hal.Lookup(name)
	if err != nil {
		panic("bug: " + err.Error())
	}
	job := compiler.Job{Target: target, Functions: []compiler.Entry{{Graph: exampleOf(k).graph}}}
	r, err := compiler.Compile(context.Background(), &job)
	if err != nil {
		e.Reason = reasonOf(err)
		return e
	}
	for _, f := range r.Functions {
		e.Tasks += f.Tasks()
	}
	job.Strict = true
	if _, err = compiler.Compile(context.Background(), &job); err == nil {
		e.Own = true
		return e
	}
	e.Reason = reasonOf(err)
	return e
}

// reasonOf is why a graph of one layer is refused, without the name of the layer.
func reasonOf(err error) string {
	if strict, ok := errors.AsType[*compiler.StrictError](err); ok && len(strict.Why) > 0 && strict.Why[0] != nil {
		return strict.Why[0].Error()
	}
	if finding, ok := errors.AsType[*diag.Finding](err); ok {
		return finding.Text
	}
	if layer, ok := errors.AsType[*anec.LayerError](err); ok {
		return layer.Err.Error()
	}
	return err.Error()
}
