package main

import (
	"fmt"
	"os"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/trace"
)

// A traceFile is the file of --trace; "" if there is none.
type traceFile string

// check refuses to replace what is no timeline.
func (f traceFile) check() error {
	path := string(f)
	switch {
	case path == "":
		return nil
	case path == standard:
		return usagef("--trace -: expected a file")
	}
	if _, err := os.Lstat(path); err == nil && !trace.IsTimeline(path) {
		return fmt.Errorf("--trace: %s exists and is no timeline: it is not replaced", shown(path))
	}
	return nil
}

// write writes the timeline of a profile.
func (f traceFile) write(p *espalier.Profile) error {
	if f == "" {
		return nil
	}
	if err := osfile.WriteAtomic(string(f), p.WriteTimeline); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return nil
}
