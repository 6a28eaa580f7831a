package compiler

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// absentWeights has zeros stand for the arrays of weight files that are not there, and reports whether there are any. What a
// function is made of shows without them.
func absentWeights(f *mil.Function) bool {
	missing := map[string]bool{}
	found := false
	f.Body.Walk(func(op *mil.Operation) {
		op.VisitConstants(func(c *mil.Constant) {
			if c == nil || c.File == nil {
				return
			}
			gone, known := missing[c.File.Path]
			if !known {
				gone = c.File.Files == nil
				if !gone {
					_, err := c.File.Files.Bytes(c.File.Path)
					gone = errors.Is(err, fs.ErrNotExist)
				}
				missing[c.File.Path] = gone
			}
			if gone {
				c.File.Files, found = zeroFiles{}, true
			}
		})
	})
	return found
}

// zeroFiles gives zeros for every array. They share their memory, which is never written.
type zeroFiles struct{}

var zeros struct {
	sync.Mutex
	bytes []byte
}

func (zeroFiles) Load(_ string, _ uint64, t *mil.TensorType) (*tensor.Tensor, error) {
	shape, _ := t.Shape.Ints()
	n, ok := t.Shape.Count()
	if !ok {
		return nil, fs.ErrNotExist
	}
	size, ok := t.DType.ByteLen(n)
	if !ok {
		return nil, fs.ErrNotExist
	}
	zeros.Lock()
	defer zeros.Unlock()
	if size > len(zeros.bytes) {
		zeros.bytes = make([]byte, size)
	}
	return tensor.FromBytes(t.DType, shape, zeros.bytes[:size])
}

func (zeroFiles) Bytes(string) ([]byte, error) { return nil, fs.ErrNotExist }
