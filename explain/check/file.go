package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/mil"
)

// File places every operation of a model on every target, by default the base targets. The model is a package, model, compiled
// model or MIL text, whose weight files need not be there, or a graph of native layers, which is held to the gates of the
// authoring route.
func File(ctx context.Context, path string, o Options) (*Report, error) {
	switch {
	case hwx.IsContainerFile(path):
		return nil, fmt.Errorf("%s: this is a hardware container, which is compiled already: check the model that it was made of", path)
	case bundle.IsBundle(path):
		return nil, fmt.Errorf("%s: this is a bundle, which is compiled already: check the model that it was made of", path)
	}
	if o.Targets == nil {
		o.Targets = hal.Base()
	}
	if graphfile.IsFile(path) {
		return graphFile(ctx, path, o)
	}
	m, err := coreml.Open(path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r, err := Model(ctx, path, m, o)
	if err != nil && !namesFile(err) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

// namesFile reports whether an error says itself which file it is about.
func namesFile(err error) bool {
	if format, ok := errors.AsType[*coreml.FormatError](err); ok && format.File != "" {
		return true
	}
	_, syntax := errors.AsType[*mil.SyntaxError](err)
	_, path := errors.AsType[*fs.PathError](err)
	return syntax || path
}
