package netplist

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A store opens the weights files of a list, each once and only if something reads it.
type store struct {
	open  func(name string) ([]byte, error)
	files map[string][]byte
	units int // lowered so far: a list may run one network in many procedures
}

// maxUnits bounds what a list becomes, over all procedures; maxOnes the weights that no file holds.
const (
	maxUnits = 1 << 15
	maxOnes  = 1 << 22
)

// fewElements do not stay in the file: a program has them, as the converter of models leaves them in the program and not in its file.
const fewElements = 10

// A blob is a tensor in a weights file.
type blob struct {
	index, offset int
	dtype         tensor.DType
	dims          []int
}

// tensor reads a blob of a network. It may lie in the memory of the file.
func (s *store) tensor(n *Network, b blob) (*tensor.Tensor, anec.Source, *Error) {
	fail := func(format string, args ...any) (*tensor.Tensor, anec.Source, *Error) {
		return nil, anec.Source{}, errorf(InvalidParamSyntax, format, args...)
	}
	if b.index < 0 || b.index >= len(n.Weights) {
		return fail("weights file %d of %d", b.index, len(n.Weights))
	}
	name := n.Weights[b.index]
	data, ok := s.files[name]
	if !ok {
		var err error
		if data, err = s.open(name); err != nil {
			e := errorf(InvalidParamSyntax, "weights file %q", name)
			e.Err = err
			return nil, anec.Source{}, e
		}
		s.files[name] = data
	}
	count, ok := tensor.Count(b.dims)
	size, fits := b.dtype.ByteLen(count)
	if !ok || !fits || b.offset < 0 || b.offset > len(data) || size > len(data)-b.offset {
		return fail("%v %v at byte %d of %q, which has %d", b.dtype, b.dims, b.offset, name, len(data))
	}
	bytes := data[b.offset : b.offset+size : b.offset+size]
	if e := b.dtype.Size(); e > 1 && b.offset%e != 0 || count < fewElements {
		bytes = append([]byte(nil), bytes...) // elements lie on their boundaries
	}
	t, err := tensor.FromBytes(b.dtype, b.dims, bytes)
	if err != nil {
		return fail("%v", err)
	}
	return t, anec.Source{File: name, Offset: int64(b.offset)}, nil
}

// constant reads a network's constant, or what is kept of a compressed one.
func (s *store) constant(n *Network, b blob, extra Dict) (*anec.Constant, *Error) {
	if d, ok := extra[ours+"Parts"]; ok {
		return s.parts(n, b, d)
	}
	t, from, err := s.tensor(n, b)
	if err != nil {
		return nil, err
	}
	c := anec.ConstantOf(t)
	c.Source = from
	return c, nil
}

// The parts of a compressed constant, which lists of Apple's have otherwise, are in a dictionary of ours:
//
//	EspalierParts   {Type, Dims, VectorAxis, data: {Type, Dims, Index, Offset}, mask, table, table_scale, table_offset, scale, offset}
//
// The names are those that the text of a graph has.
func (s *store) parts(n *Network, whole blob, v any) (*anec.Constant, *Error) {
	d, err := asDict(v)
	if err != nil {
		return nil, err.at("", "", ours+"Parts")
	}
	c := &anec.Constant{DType: whole.dtype, Dims: anec.Dims(whole.dims)}
	var p anec.Palette
	t := take(d)
	part := func(name string, to **tensor.Tensor) {
		t.key(name, func(v any) *Error {
			d, err := asDict(v)
			if err != nil {
				return err
			}
			var b blob
			t := take(d)
			t.key("Type", into(&b.dtype, asType))
			t.key("Index", into(&b.index, asInt))
			t.key("Offset", into(&b.offset, asInt))
			t.key("Dims", func(v any) *Error {
				list, err := asList(v)
				for i := 0; err == nil && i < len(list); i++ {
					var n int
					n, err = asInt(list[i])
					b.dims = append(b.dims, n)
				}
				return err
			})
			if t.err != nil {
				return t.err
			}
			*to, c.Source, err = s.tensor(n, b)
			return err
		})
	}
	part("mask", &c.Mask)
	part("table", &p.Table)
	part("table_scale", &p.Scale)
	part("table_offset", &p.Offset)
	part("scale", &c.Scale)
	part("offset", &c.Offset)
	part("data", &c.Stored)
	t.key("VectorAxis", into(&p.VectorAxis, asAxis))
	if p.Table != nil {
		c.Palette = &p
	}
	return c, t.err
}

// kernel reads the weights that Params name. The file has them in the order output, input, depth, height, width.
func (l *lowering) kernel(u *Unit, t *taker, dims anec.Dims) (*anec.Constant, *Error) {
	b := blob{dtype: tensor.Float16}
	mode := "Dense"
	t.key("KernelMode", into(&mode, asString))
	t.key("KernelIndex", into(&b.index, asInt))
	t.key("KernelOffset", into(&b.offset, asInt))
	t.key("KernelType", into(&b.dtype, asType))
	parts, compressed := t.left[ours+"Parts"]
	delete(t.left, ours+"Parts")
	if t.err != nil {
		return nil, t.err
	}
	switch mode {
	case "Unity": // no file: all are 1
		if n, ok := dims.Count(); !ok || n > maxOnes {
			return nil, errorf(InvalidParamSyntax, "a kernel of %v, all ones; at most %d are made", dims, maxOnes).at("", "", "KernelMode")
		}
		one, err := tensor.Scalar(float32(1)).Convert(b.dtype)
		if err == nil {
			one, err = one.BroadcastTo(dims[:]...)
		}
		if err != nil {
			return nil, errorf(InvalidParamSyntax, "%v", err).at("", "", "KernelType")
		}
		return anec.ConstantOf(one.Dense()), nil
	case "Dense":
	default:
		return nil, wrong(mode, "Dense or Unity: of others no source says how they lie").at("", "", "KernelMode")
	}
	if compressed {
		b.dims = dims[:]
		return l.store.parts(l.net, b, parts)
	}
	if b.dims = dims[:]; dims[anec.D] == 1 {
		c, err := l.store.constant(l.net, b, nil)
		if err != nil {
			return nil, err.at("", "", "KernelIndex")
		}
		return c, nil
	}
	b.dims = []int{dims[anec.N], dims[anec.C], dims[anec.D], dims[anec.H], dims[anec.W]}
	stored, _, err := l.store.tensor(l.net, b)
	if err != nil {
		return nil, err.at("", "", "KernelIndex")
	}
	stored, failed := stored.Transpose(0, 2, 1, 3, 4)
	if failed != nil {
		return nil, errorf(InvalidParamSyntax, "%v", failed)
	}
	return anec.ConstantOf(stored.Dense()), nil // in another order than the file: it has no source
}

// groupData reads the gains and offsets of BiasScaleGroupData, one for each channel.
func (l *lowering) groupData(t *taker) (scale, bias, exact *anec.Constant, err *Error) {
	t.key("BiasScaleGroupData", func(v any) *Error {
		d, err := asDict(v)
		if err != nil {
			return err
		}
		t := take(d)
		read := func(prefix string, to **anec.Constant) {
			b, count := blob{dtype: tensor.Float16}, 0
			if !t.key(prefix+"Count", into(&count, asInt)) {
				return
			}
			if count < 1 && t.err == nil {
				t.err = errorf(InvalidParamSyntax, "found %d, want 1 or more", count).at("", "", "BiasScaleGroupData."+prefix+"Count")
			}
			t.key(prefix+"Index", into(&b.index, asInt))
			t.key(prefix+"Offset", into(&b.offset, asInt))
			t.key(prefix+"Type", into(&b.dtype, asType))
			if t.err != nil {
				return
			}
			b.dims = []int{1, 1, count, 1, 1}
			c, err := l.store.constant(l.net, b, nil)
			if err != nil {
				t.err = err.at("", "", fmt.Sprintf("BiasScaleGroupData.%sIndex", prefix))
			}
			*to = c
		}
		read("Scale", &scale)
		read("Bias", &bias)
		read(ours+"Bias", &exact)
		for _, key := range t.left.keys() {
			l.unknown("BiasScaleGroupData." + key)
		}
		return t.err
	})
	return scale, bias, exact, t.err
}

// kernelDims are the extents of a unit's weights.
func kernelDims(u *Unit, p anec.Params, x anec.Dims) (anec.Dims, *Error) {
	if u.OutputChannels < 1 {
		return anec.Dims{}, errorf(InvalidParamSyntax, "found %d; the weights have so many outputs", u.OutputChannels).at("", "", "OutputChannels")
	}
	switch p := p.(type) {
	case *anec.Conv:
		groups := p.Groups
		if groups < 1 || x[td.AxisC]%groups != 0 || u.OutputChannels%groups != 0 {
			return anec.Dims{}, errorf(InvalidParamSyntax, "found %d groups, of %d channels and %d outputs", groups, x[td.AxisC], u.OutputChannels).at("", "", "NumGroups")
		}
		k := p.Kernel
		if p.Transposed {
			return anec.Dims{x[td.AxisC], k[0], u.OutputChannels / groups, k[1], k[2]}, nil
		}
		return anec.Dims{u.OutputChannels, k[0], x[td.AxisC] / groups, k[1], k[2]}, nil
	case *anec.Linear:
		return anec.Dims{1, 1, 1, u.OutputChannels, x[p.Axis]}, nil
	}
	panic("bug: weights of a " + p.Info().Name)
}
