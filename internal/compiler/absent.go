package compiler

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
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

// zeroFiles gives zeros for every array. They share their memory, which is never written, nor read as a whole: it costs
// addresses and no pages.
type zeroFiles struct{}

// mostZeros is how large an array may be: a model may declare any size for what is not there. No weights are near it; a table
// of 131072 rows of 16384 halves is.
const mostZeros = min(1<<32, math.MaxInt/2+1)

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
	if size > mostZeros {
		return nil, fmt.Errorf("%v has %d bytes in a weight file that is not there; expected at most %d", t, size, int64(mostZeros))
	}
	zeros.Lock()
	defer zeros.Unlock()
	if size > len(zeros.bytes) {
		zeros.bytes = make([]byte, 1<<bits.Len(uint(size-1))) // what arrays of growing sizes leave behind is less than the last
	}
	return tensor.FromBytes(t.DType, shape, zeros.bytes[:size])
}

func (zeroFiles) Bytes(string) ([]byte, error) { return nil, fs.ErrNotExist }
