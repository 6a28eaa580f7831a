package ops

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Numerics says what happens to a floating-point value when an operation's result is stored. Inside an
// operation everything is fp32, whatever the profile.
type Numerics uint8

// The profiles of the evaluator.
const (
	// Virtual rounds a value to its declared type.
	Virtual Numerics = iota
	// FP32 keeps every floating-point value in fp32: the yardstick.
	FP32
)

// ParseNumerics finds a profile by name.
func ParseNumerics(name string) (Numerics, error) {
	switch name {
	case "virtual":
		return Virtual, nil
	case "fp32":
		return FP32, nil
	}
	return 0, fmt.Errorf("unknown numerics profile %q: expected virtual or fp32", name)
}

// String returns the profile's name.
func (n Numerics) String() string {
	if n == FP32 {
		return "fp32"
	}
	return "virtual"
}

// roundings are the types narrower than the fp32 in which the evaluator holds them.
var roundings = map[tensor.DType]func(float32) float32{
	tensor.Float16:      tensor.RoundF16,
	tensor.BFloat16:     func(v float32) float32 { return tensor.BF16(tensor.ToBF16(v)) },
	tensor.Float8E4M3FN: func(v float32) float32 { return tensor.F8E4M3(tensor.ToF8E4M3(v)) },
	tensor.Float8E5M2:   func(v float32) float32 { return tensor.F8E5M2(tensor.ToF8E5M2(v)) },
}

// store turns the result of an operation into what the evaluator keeps for a value of type t.
func store(h *halt, v Value, t mil.Type, n Numerics) (Value, error) {
	x, ok := v.(*tensor.Tensor)
	tt, ok2 := t.(*mil.TensorType)
	if !ok || !ok2 {
		return v, nil
	}
	if !tt.AnyRank && !tt.Shape.Compatible(tensor.ShapeOf(x.Shape()...)) {
		return nil, fmt.Errorf("the result has shape %v, expected %v", x.Shape(), tt.Shape)
	}
	x, err := h.convert(x, held(tt.DType))
	if err != nil {
		return nil, err
	}
	if round := roundings[tt.DType]; round != nil && n == Virtual && !(tt.DType == tensor.Float16 && areHalves(h, x.Float32s())) {
		x = rounded(h, x, round)
	}
	return x, nil
}

// areHalves reports whether all elements are zeros and normal fp16 numbers already, as
// those are that are only moved. It is much faster than to round them.
func areHalves(h *halt, v []float32) bool {
	const lost, least, end = 0x1fff, 0x38800000 << 1, 0x47800000 << 1 // bits that fp16 lacks, 2^-14, 2^16
	var other atomic.Bool
	h.For(len(v), 1<<14, func(lo, hi int) {
		for _, x := range v[lo:hi] {
			if b := math.Float32bits(x); b&lost != 0 || b<<1 != 0 && uint32(b<<1)-least >= end-least {
				other.Store(true)
				return
			}
		}
	})
	return !other.Load()
}

// rounded applies a rounding to every element. It leaves x alone, which may share its memory, and returns
// it if no element changes: data that is only moved has been rounded before.
func rounded(h *halt, x *tensor.Tensor, round func(float32) float32) *tensor.Tensor {
	in := x.Float32s()
	out := make([]float32, len(in))
	var changed atomic.Bool
	h.For(len(in), 1<<14, func(lo, hi int) {
		diff := false
		for i := lo; i < hi; i++ {
			out[i] = round(in[i])
			diff = diff || out[i] != in[i]
		}
		if diff {
			changed.Store(true)
		}
	})
	if !changed.Load() {
		return x
	}
	return tensor.Of(out, x.Shape()...)
}
