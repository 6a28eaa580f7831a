package engine

import (
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// RunOperation executes one operation, of which each operand that is there has a
// type and extents and lies densely in a memory of its own, on the sources in
// their order. It returns the results.
func RunOperation(t *testing.T, op *td.Op, sources ...*tensor.Tensor) (results []*tensor.Tensor) {
	t.Helper()
	b := &bench{op: op, memories: make([][]byte, len(op.Operands))}
	for i := range op.Operands {
		o := &op.Operands[i]
		if !o.Present() {
			continue
		}
		*o = td.Dense(i, 0, o.Type, o.Dims)
		_, size, _ := o.Extent()
		b.memories[i] = make([]byte, size)
		if i >= op.Results() {
			if got := len(sources[0].Bytes()); got != int(size) {
				t.Fatalf("operand %d has %d bytes, want %d", i, got, size)
			}
			copy(b.memories[i], sources[0].Bytes())
			sources = sources[1:]
		}
	}
	b.run(t)
	for i := range op.Results() {
		if o := &op.Operands[i]; o.Present() {
			y := tensor.New(o.Type, o.Dims[:]...)
			copy(y.Bytes(), b.memories[i])
			results = append(results, y)
		}
	}
	return results
}
