package compiler

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
)

// bytesOf are the files of a bundle, one after the other.
func bytesOf(t *testing.T, b *bundle.Bundle) []byte {
	t.Helper()
	c := b.Content()
	var all bytes.Buffer
	all.Write(c.Program)
	io.WriteString(&all, c.Host)
	for _, blob := range slices.Concat(c.Containers, c.Weights) {
		io.WriteString(&all, blob.Path)
		if err := blob.Write(&all); err != nil {
			t.Fatal(err)
		}
	}
	return all.Bytes()
}

// Nothing that has no order of its own may show: storage of nodes, maps, ready queues.
func TestCompilesAreTheSameBytes(t *testing.T) {
	modelCases(t, func(t *testing.T, c modelCase) {
		var first []byte
		for seed := range uint64(4) {
			r, err := Compile(t.Context(), &Job{
				Target: virtual(t), Program: c.program, Seed: seed,
				Functions: []Entry{{Function: c.function, Shapes: c.shapes}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := bytesOf(t, r.Bundle)
			if seed == 0 {
				checkDescriptor(t, r)
				first = got
			} else if !bytes.Equal(got, first) {
				t.Errorf("%s %s: seed %d gives other bytes", c.model, c.function.Name, seed)
			}
		}
	})
}
