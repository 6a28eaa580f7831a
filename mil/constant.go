package mil

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// Constant is a value that the program holds: an array, or a list, tuple or dictionary of constants. An
// array may be in the program, or in a file that is read when it is asked for.
type Constant struct {
	Type Type

	Tensor  *tensor.Tensor // an array in the program
	File    *FileRef       // an array in a file
	Items   []*Constant    // the elements of a list or tuple
	Entries []Entry        // the entries of a dictionary, in the file's order

	// Mutable says that the elements may be others when the program runs: nothing may follow from those that are here.
	Mutable bool
}

// Entry is an entry of a dictionary.
type Entry struct{ Key, Value *Constant }

// FileRef points at an array in a weight file.
type FileRef struct {
	Path   string // as the program spells it: "@model_path/weights/weight.bin"
	Offset uint64 // of the record, not of its data
	Files  Files  // nil if the program came without its files
}

// Files opens the arrays of weight files.
type Files interface {
	// Load returns the array of the given type whose record is at offset in the file that the program calls path.
	Load(path string, offset uint64, t *TensorType) (*tensor.Tensor, error)

	// Bytes returns the whole file, of which the arrays are views.
	Bytes(path string) ([]byte, error)
}

// Load returns the array, from the program or from its file.
func (c *Constant) Load() (*tensor.Tensor, error) {
	switch {
	case c.Tensor != nil:
		return c.Tensor, nil
	case c.File == nil:
		return nil, fmt.Errorf("a %v constant is not an array", c.Type)
	case c.File.Files == nil:
		return nil, fmt.Errorf("weight file %s: the program was read without its weight files", c.File.Path)
	}
	t, ok := c.Type.(*TensorType)
	if !ok {
		return nil, fmt.Errorf("weight file %s: a %v cannot live in a file", c.File.Path, c.Type)
	}
	return c.File.Files.Load(c.File.Path, c.File.Offset, t)
}

// NewConst makes a constant of an array.
func NewConst(t *tensor.Tensor) *Constant { return &Constant{Type: TypeOf(t), Tensor: t} }

// ConstOf makes a scalar constant.
func ConstOf[T tensor.Number | ~string](v T) *Constant { return NewConst(tensor.Scalar(v)) }

// Str returns the text of a string constant.
func (c *Constant) Str() (string, bool) {
	if c == nil || c.Tensor == nil || c.Tensor.DType() != tensor.String || c.Tensor.Len() != 1 {
		return "", false
	}
	return c.Tensor.Strings()[0], true
}
