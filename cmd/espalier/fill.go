package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// maxGenerated bounds the elements of generated values: a model may describe inputs larger than any memory.
const maxGenerated = 1 << 28

// bytesPerGenerated is what a generated element takes: an integer is drawn as an int64, and then is what the input wants.
const bytesPerGenerated = 16

// smallInt is the number of different values that random integers have, from 0 on.
const smallInt = 10

// generate makes values for an input. They depend on the seed, the input's name and its shape only.
func (s inputSpec) generate(d coreml.Feature) (*tensor.Tensor, error) {
	shape, err := s.shapeFor(d)
	if err != nil {
		return nil, err
	}
	n, ok := tensor.Count(shape)
	most := min(maxGenerated, int(osfile.MemoryLimit()/bytesPerGenerated))
	if !ok || n > most {
		return nil, fmt.Errorf("input %q: an array of shape %v is too large to be generated: at most %d elements are",
			d.Name, tensor.ShapeOf(shape...), most)
	}
	draw := s.source(d.Name)
	switch typ := d.Type.(type) {
	case *coreml.ImageType:
		pixels := make([]uint8, n)
		for i := range pixels {
			pixels[i] = uint8(draw.integer(256))
		}
		return tensor.Of(pixels, shape...), nil
	case *coreml.ArrayType:
		return draw.array(typ.DType, n, shape)
	case *coreml.Int64Type:
		return draw.array(tensor.Int64, n, shape)
	case *coreml.DoubleType:
		return draw.array(tensor.Float64, n, shape)
	case *coreml.StringType:
		return tensor.New(tensor.String, shape...), nil
	}
	return nil, fmt.Errorf("input %q: values for a %v cannot be generated", d.Name, d.Type)
}

// shapeFor is the shape of the array that is generated for an input.
func (s inputSpec) shapeFor(d coreml.Feature) ([]int, error) {
	switch typ := d.Type.(type) {
	case *coreml.ImageType:
		shape := []int{typ.Height, typ.Width}
		if s.shape != nil {
			if len(s.shape) != 2 || !typ.Admits(s.shape[1], s.shape[0]) {
				return nil, usagef("--input %s: expected HEIGHTxWIDTH, as in @%dx%d, of an %v", s.flag, typ.Height, typ.Width, typ)
			}
			shape = s.shape
		}
		if typ.ColorSpace.Channels() == 3 {
			shape = []int{shape[0], shape[1], 3}
		}
		return shape, nil
	case *coreml.ArrayType:
		if s.shape == nil {
			shape, ok := typ.DefaultShape()
			if !ok {
				return nil, usagef("input %q: the model gives no shape for it; choose one, as in --input %s=zeros@1x2x3", d.Name, d.Name)
			}
			return shape, nil
		}
		if !typ.Admits(s.shape) {
			return nil, usagef("--input %s: input %q does not take the shape %v: expected %v", s.flag, d.Name, tensor.ShapeOf(s.shape...), typ)
		}
		return s.shape, nil
	}
	if s.shape != nil {
		return nil, usagef("--input %s: a %v has no shape", s.flag, d.Type)
	}
	return []int{1}, nil
}

// values draws numbers, or zeros if it has no source.
type values struct{ source *rand.Rand }

func (s inputSpec) source(name string) values {
	if s.fill == withZeros {
		return values{}
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return values{rand.New(rand.NewPCG(s.seed, h.Sum64()))}
}

// integer draws from 0 to n-1.
func (v values) integer(n int64) int64 {
	if v.source == nil {
		return 0
	}
	return v.source.Int64N(n)
}

// array draws n elements: floats from the standard normal distribution, small whole numbers, or booleans.
func (v values) array(d tensor.DType, n int, shape []int) (*tensor.Tensor, error) {
	if d == tensor.Invalid { // the description leaves it open
		d = tensor.Float32
	}
	switch {
	case d == tensor.String:
		return tensor.New(d, shape...), nil
	case d.IsFloat():
		vals := make([]float32, n)
		for i := range vals {
			if v.source != nil {
				vals[i] = float32(v.source.NormFloat64())
			}
		}
		return tensor.FromFloat32s(d, vals, shape...), nil
	}
	_, largest := d.IntRange()
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = v.integer(int64(min(largest, smallInt-1)) + 1)
	}
	return tensor.FromInt64s(d, vals, shape...), nil
}
