package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// packWeights says how weights are packed where the form of their streams is known: dense fp16 of products and of
// convolutions over H and W (seed compiler, phase 4: weight packing; oracles 5 for the lanes).
//
//	%y = anec.convolution(%x, %w)   64 outputs, 64 inputs, 3x3      16 engines with 4 lanes each, 4608 bytes a stream
func packWeights(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	oc := s.Plan.OnChip
	for i, l := range s.Plan.Layers {
		w := segment.WeightBottom(l)
		if w == nil || oc.Tasks[i].AtLoad || w.Type.DType.Bits() != 16 {
			continue
		}
		k := td.Kernel{Groups: 1, Height: 1, Width: 1, StrideY: 1, StrideX: 1, Format: td.KernelFP16}
		side, d := 1, w.Type.Dims
		switch p := l.Params.(type) {
		case *anec.Conv:
			if p.Transposed || p.Kernel[0] != 1 {
				continue
			}
			k.Groups, k.Outputs, k.Inputs = p.Groups, d[anec.N]/p.Groups, d[anec.C]
			k.Height, k.Width = p.Kernel[1], p.Kernel[2]
			side = max(l.Top().Type.Dims[anec.H], l.Top().Type.Dims[anec.W])
			k.Bias = len(l.Bottoms) > 2 && l.Bottoms[2] != nil
		case *anec.Linear:
			k.Outputs, k.Inputs = d[anec.H], d[anec.W]
			k.Bias = len(l.Bottoms) > 2 && l.Bottoms[2] != nil
			side = 16
		case *anec.MatMul:
			k.Outputs, k.Inputs = d[anec.W], d[anec.H]
			if p.TransposeZ {
				k.Outputs, k.Inputs = k.Inputs, k.Outputs
			}
			side = 16
		}
		if k.Outputs < 1 || k.Inputs < 1 {
			continue
		}
		most := s.Target.Sizes.MaxLanes
		if side > 8 {
			most /= 2
		}
		engines := s.Target.Sizes.Engines
		k.Engines = min(powerOfTwo(k.Outputs), engines)
		k.Lanes = 1
		for k.Lanes*2 <= min(most, k.Outputs/engines) {
			k.Lanes *= 2
		}
		stream := segment.KernelStream{Task: i, Engines: k.Engines, Lanes: k.Lanes}
		for e := range k.Engines {
			stream.Bytes += int64(k.StreamBytes(e))
		}
		dense, _ := w.Type.Bytes()
		stream.Dense = int64(dense)
		oc.Kernels = append(oc.Kernels, stream)
	}
	return nil
}
