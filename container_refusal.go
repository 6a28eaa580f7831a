package espalier

import (
	"errors"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/internal/compiler"
)

// ErrContainer is wrapped by the error about a program that no one container can hold: it has operations that the host
// runs, a function of several segments, or is a pipeline.
var ErrContainer = errors.New("a container holds one segment of the engine for each function")

// maxReasons is how many operations of the host an error lists.
const maxReasons = 10

// oneSegmentEach are the functions of a program, if each is a single segment on the engine, or why they are not.
func (p *Program) oneSegmentEach() ([]*compiler.Function, error) {
	if pipeline := p.result.Bundle.Manifest.Pipeline; pipeline != nil {
		return nil, fmt.Errorf("%w, and the program is a pipeline of %d stages: write a bundle (.bundle), which holds them all", ErrContainer, len(pipeline.Stages))
	}
	for _, f := range p.result.Functions {
		if err := oneSegment(f); err != nil {
			return nil, err
		}
	}
	return p.result.Functions, nil
}

// oneSegment says why a function is not a single segment on the engine.
func oneSegment(f *compiler.Function) error {
	if len(f.Segments) == 1 && f.Segments[0] != nil {
		return nil
	}
	hosts := 0
	for _, s := range f.Segments {
		if s == nil {
			hosts++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "and function %s is %d of the engine and %d of the host", f.Name, len(f.Segments)-hosts, hosts)
	reasons := hostReasons(f)
	for i, reason := range reasons {
		if i == maxReasons {
			fmt.Fprintf(&b, "\n  and %d more; check lists them", len(reasons)-i)
			break
		}
		b.WriteString("\n  " + reason)
	}
	return fmt.Errorf("%w, %s\nwrite a bundle (.bundle), which holds them all", ErrContainer, &b)
}

// hostReasons says why operations run on the host, a line each.
func hostReasons(f *compiler.Function) (lines []string) {
	if f.Placement == nil { // a graph has no host
		return nil
	}
	for _, o := range f.Placement.Ops {
		if o.Backend != compiler.OnHost {
			continue
		}
		line := fmt.Sprintf("%s (%s) runs on the host [%v]: %s", o.Op.Name(), o.Op.Kind, o.Finding.ID, o.Reason())
		if remedy := o.Finding.Remedy; remedy != "" {
			line += ". Instead: " + remedy
		}
		lines = append(lines, line)
	}
	return lines
}
