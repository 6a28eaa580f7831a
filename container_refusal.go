package espalier

import (
	"errors"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/internal/compiler"
)

// ErrContainer is wrapped by the error about a program that no one container can hold: it has operations that the host
// runs, several segments, or several functions.
var ErrContainer = errors.New("a container holds one segment of the engine")

// maxReasons is how many operations of the host an error lists.
const maxReasons = 10

// oneSegment is the function of a program that is a single segment on the engine, or why there is none.
func (p *Program) oneSegment() (*compiler.Function, error) {
	if pipeline := p.result.Bundle.Manifest.Pipeline; pipeline != nil {
		return nil, fmt.Errorf("%w, and the program is a pipeline of %d stages: write a bundle (.bundle), which holds them all", ErrContainer, len(pipeline.Stages))
	}
	if n := len(p.result.Functions); n != 1 {
		return nil, fmt.Errorf("%w, and the program has %d functions: compile one of them, or write a bundle", ErrContainer, n)
	}
	f := p.result.Functions[0]
	if len(f.Segments) == 1 && f.Segments[0] != nil {
		return f, nil
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
	return nil, fmt.Errorf("%w, %s\nwrite a bundle (.bundle), which holds them all", ErrContainer, &b)
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
