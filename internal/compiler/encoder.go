package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// An encoder makes tasks of layers, in one encoding.
type encoder interface {
	version() td.Version

	// takes reports, by its kind and its values alone, whether the encoding has tasks for a layer: nil, or why not.
	takes(s *Segment, l *anec.Layer) error
	// inRows reports whether values lie in rows as ports have them.
	inRows() bool
	// layout is how a value lies such that tasks can read and write it.
	layout(t anec.Type, target *hal.Target) (strides [anec.NumAxes]int64, size int64)
	// names reports whether tasks can name a place of a value.
	names(at spot, t anec.Type, target *hal.Target) bool
	// groups finds layers that another one's tasks compute along: which one that is.
	groups(s *Segment, layers []*anec.Layer) map[*anec.Layer]*anec.Layer
	// choose selects the tasks of a choice, once.
	choose(c *choice) ([]Task, error)
	// fits reports whether words can say the tasks, and the profile of numerics allows them.
	fits(c *choice, tasks []Task) error
}

// taskEncoders are the encoders of a segment.
func (s *Segment) taskEncoders() []encoder {
	if s.encoders != nil {
		return s.encoders
	}
	return encodersOf(s.Target)
}

// encodersOf are the encoders of a target: the chip's own first, and that of version 256 last.
func encodersOf(t *hal.Target) []encoder {
	if taskVersion(t) == td.V7 {
		return []encoder{v7Encoder{}, v256Encoder{}}
	}
	return []encoder{v256Encoder{}}
}

// v256Encoder is our own encoding.
type v256Encoder struct{}

func (v256Encoder) version() td.Version                     { return td.V256 }
func (v256Encoder) takes(*Segment, *anec.Layer) error       { return nil }
func (v256Encoder) inRows() bool                            { return false }
func (v256Encoder) names(spot, anec.Type, *hal.Target) bool { return true }

func (v256Encoder) groups(*Segment, []*anec.Layer) map[*anec.Layer]*anec.Layer { return nil }

func (v256Encoder) layout(t anec.Type, _ *hal.Target) (strides [anec.NumAxes]int64, size int64) {
	bytes, _ := t.Bytes()
	return td.Dense(0, 0, t.DType, t.Dims).Strides, int64(bytes)
}

func (v256Encoder) fits(*choice, []Task) error { return nil }

func (v256Encoder) choose(c *choice) ([]Task, error) {
	l := c.layer()
	for _, v := range append(l.Reads(), l.Tops...) {
		if _, ok := c.spot(v); !ok {
			return nil, &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: fmt.Errorf("value %q has no place", v.Name)}
		}
	}
	ops, err := emitLayer(l, c.operand)
	var tasks []Task
	for _, op := range ops {
		tasks = append(tasks, Task{Layer: l, Op: op})
	}
	return tasks, err
}

// operand is a value as an operand: where it lies, before that has an address.
func (c *choice) operand(v *anec.Value) td.Operand {
	at, _ := c.spot(v)
	o := td.Operand{Base: at.buffer.id, Offset: at.offset, Type: v.Type.DType, Interleave: 1, Dims: v.Type.Dims, Strides: at.strides}
	if o.Type.SubByte() {
		o.Strides = [td.NumAxes]int64{} // its elements lie packed
	}
	return o
}

func (v7Encoder) inRows() bool { return true }

func (v7Encoder) layout(t anec.Type, target *hal.Target) (strides [anec.NumAxes]int64, size int64) {
	return portLayout(t, target)
}

func (v7Encoder) names(at spot, t anec.Type, target *hal.Target) bool {
	_, ok := surfaceAt(machineOf(&Segment{Target: target}), at.offset, at.strides, t)
	return ok
}

// takes knows the kinds that have tasks, and that all values are in fp16 or bool, without depth, and no states.
func (v7Encoder) takes(s *Segment, l *anec.Layer) error {
	if !v7Kinds[l.Kind()] {
		return fmt.Errorf("no task of version 7 is known for %v", l.Kind())
	}
	for _, v := range append(l.Reads(), l.Tops...) {
		switch {
		case v.Const != nil || isDecoded(v):
		case v.Type.Dims[anec.D] != 1:
			return fmt.Errorf("%q has depth", v.Name)
		case v.Type.DType != tensor.Float16 && v.Type.DType != tensor.Bool:
			return fmt.Errorf("%q is of %v", v.Name, v.Type.DType)
		case v.Def == nil && !slices.Contains(s.Graph.Inputs, v):
			return fmt.Errorf("%q is a state", v.Name)
		}
	}
	return nil
}

var v7Kinds = setOf(
	anec.KindElementWise, anec.KindNeuron, anec.KindTypeCast, anec.KindGOC, anec.KindSelect, anec.KindPooling, anec.KindReduction,
	anec.KindSoftmax, anec.KindLayerNorm, anec.KindInstanceNorm, anec.KindL2Norm, anec.KindConv, anec.KindMatMul, anec.KindLinear,
	anec.KindSDPA, anec.KindCopy, anec.KindConcat, anec.KindPadding, anec.KindTile, anec.KindGather, anec.KindPixelShuffle,
	anec.KindPixelUnshuffle, anec.KindChannelToSpace, anec.KindSpaceToChannel, anec.KindBatchToSpace, anec.KindSpaceToBatch,
)
