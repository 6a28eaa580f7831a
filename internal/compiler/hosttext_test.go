package compiler

import (
	"context"
	"errors"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Writing host.mil ends with the context, be it in the middle of a constant.
func TestHostTextEnds(t *testing.T) {
	b := mil.NewBuilder("main", "ios18")
	b.Return(b.Const("c", tensor.New(tensor.Float32, 1<<16)))
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	to := &hostText{ctx: ctx}
	whole := &hostText{ctx: ctx}
	if err := mil.WriteText(whole, p); err != nil {
		t.Fatal(err)
	}
	if err := mil.WriteText(endsAfter{to, cancel}, p); !errors.Is(err, context.Canceled) || to.Len() == 0 || to.Len() > whole.Len()/2 {
		t.Errorf("%v, after %d bytes of %d", err, to.Len(), whole.Len())
	}
}

// endsAfter ends a context after the first text.
type endsAfter struct {
	to  *hostText
	end func()
}

func (w endsAfter) Write(p []byte) (int, error) {
	defer w.end()
	return w.to.Write(p)
}
