package mil

import (
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// F16 makes a half, for Builder's arguments; Go has no type for it.
func F16(v float32) *tensor.Tensor { return tensor.FromFloat32s(tensor.Float16, []float32{v}) }

// constantOf makes a constant of a Go value, by the rules of Builder.Const.
func constantOf(v any) (*Constant, error) {
	switch v := v.(type) {
	case *Constant:
		if v != nil {
			return v, nil
		}
	case *tensor.Tensor:
		if v != nil {
			return NewConst(v), nil
		}
	case int:
		n, err := toInt32(v)
		return ConstOf(n), err
	case []int:
		out := make([]int32, len(v))
		for i, n := range v {
			var err error
			if out[i], err = toInt32(n); err != nil {
				return nil, err
			}
		}
		return vector(out), nil
	case float64:
		return ConstOf(float32(v)), nil
	case []float64:
		out := make([]float32, len(v))
		for i, f := range v {
			out[i] = float32(f)
		}
		return vector(out), nil
	case bool:
		return ConstOf(v), nil
	case []bool:
		return vector(v), nil
	case string:
		return ConstOf(v), nil
	case []string:
		return vector(v), nil
	case float32:
		return ConstOf(v), nil
	case []float32:
		return vector(v), nil
	case int8:
		return ConstOf(v), nil
	case []int8:
		return vector(v), nil
	case int16:
		return ConstOf(v), nil
	case []int16:
		return vector(v), nil
	case int32:
		return ConstOf(v), nil
	case []int32:
		return vector(v), nil
	case int64:
		return ConstOf(v), nil
	case []int64:
		return vector(v), nil
	case uint8:
		return ConstOf(v), nil
	case []uint8:
		return vector(v), nil
	case uint16:
		return ConstOf(v), nil
	case []uint16:
		return vector(v), nil
	case uint32:
		return ConstOf(v), nil
	case []uint32:
		return vector(v), nil
	case uint64:
		return ConstOf(v), nil
	case []uint64:
		return vector(v), nil
	}
	return nil, fmt.Errorf("no constant can be made of a %T (%v)", v, v)
}

// vector makes a constant of rank 1. It copies the elements, for the caller may go on to change them.
func vector[T tensor.Number | ~string](v []T) *Constant {
	return NewConst(tensor.Of(slices.Clone(v), len(v)))
}

func toInt32(n int) (int32, error) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%d is out of the range of int32", n)
	}
	return int32(n), nil
}
