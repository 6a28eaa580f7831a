package compiler

import (
	"math"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeResize writes a resize as products, where the target has no engine that samples: an axis goes to the channels and a
// convolution mixes its elements (guide 13 and 35: a transpose followed by a convolution).
//
//	%y = anec.resize(%x) {size = [8, 8]} : fp16[1,1,3,8,8]                      %x [1,1,3,4,4]
//
//	%a = anec.transpose(%x) {perm = [N, D, H, C, W]} : fp16[1,1,4,3,4]
//	%b = anec.convolution(%a, %rows) : fp16[1,1,8,3,4]                            %rows [8,1,4,1,1]
//	%c = anec.transpose(%b) {perm = [N, D, W, H, C]} : fp16[1,1,4,3,8]
//	%d = anec.convolution(%c, %columns) : fp16[1,1,8,3,8]                         %columns [8,1,4,1,1]
//	%y = anec.transpose(%d) {perm = [N, D, H, W, C]} : fp16[1,1,3,8,8]
//
// The weights are fp16, so that a result is rounded otherwise than by an engine that samples, as the guide says of it. Along an
// axis so long that they are more than the kernel memory of an engine, elements that are doubled are spread, by a transposed
// convolution of each channel with ones:
//
//	%y = anec.resize(%x) {size = [256, 256], method = NearestNeighbor} : fp16[1,1,3,256,256] …
//
//	%y = anec.deconvolution(%x, %ones) {kernel_sizes = [2, 2], strides = [2, 2], groups = 3} : fp16[1,1,3,256,256]
//
// and what else is resized stays a task that samples. (Guide 13 has a channelwise transposed convolution for every whole factor,
// guide 35 has that depend on the byte 0x812 and on the longest small kernel: no source has the value of the byte.)
func legalizeResize(s *segment.Segment) error {
	if s.Target.Has(hal.CapTexture) {
		return nil
	}
	var refused refusals
	for _, l := range s.Graph.Order() {
		if l.Kind() != anec.KindResize && l.Kind() != anec.KindResizeAs {
			continue
		}
		refused.add(l, rewriteCore(s.Graph, l, 0, func(b *anec.Builder, l *anec.Layer, core builder) (*anec.Value, error) {
			return mixedAxes(b, l, s.Target, core)
		}))
	}
	return refused.err()
}

func mixedAxes(b *anec.Builder, l *anec.Layer, t *hal.Target, core builder) (*anec.Value, error) {
	r, ok := l.Params.(*anec.Resize)
	if as, like := l.Params.(*anec.ResizeAs); like {
		r, ok = &anec.Resize{Method: as.Method, Grid: as.Grid, Rounding: as.Rounding}, true
	}
	x := l.Bottoms[0]
	bare, err := bareType(l)
	if err != nil || !ok {
		return nil, err
	}
	from, to := x.Type.Dims, bare.Dims
	if x.Type.DType != tensor.Float16 || from[anec.D] != 1 || from[anec.C] > t.Limits.Tensor[anec.H] {
		return nil, nil
	}
	var points [2][]mixedPoint // along H and W
	for i, a := range []td.Axis{anec.H, anec.W} {
		distance := 0.0
		if r.Size[i] != 0 {
			distance = float64(r.Scale[i])
		}
		if to[a] > t.Limits.Tensor[anec.C] {
			return nil, nil
		}
		points[i] = samplePoints(r, from[a], to[a], distance)
		if points[i] == nil {
			return nil, nil
		}
	}
	var mixes [2]*tensor.Tensor // along H and W; nil: it stays
	for i, a := range []td.Axis{anec.H, anec.W} {
		if 2*from[a]*to[a] > t.Limits.KernelMemoryDense { // the products would outweigh what they stand for
			if y, n := doubled(points[0], from[anec.H]), doubled(points[1], from[anec.W]); y*n > 1 {
				return spread(b, l, y, n, core), nil
			}
			return nil, nil
		}
		mixes[i] = mixOf(points[i], from[a])
	}
	if mixes[0] == nil && mixes[1] == nil {
		return nil, nil
	}

	order := anec.Identity // where the axes are
	put := func(next anec.Perm) {
		x = b.Layer(l.Name, &anec.Transpose{Perm: order.Inverse().Then(next)}, x)
		order = next
	}
	for i, next := range []anec.Perm{{anec.N, anec.D, anec.H, anec.C, anec.W}, {anec.N, anec.D, anec.W, anec.C, anec.H}} {
		if mixes[i] == nil {
			continue
		}
		put(next)
		conv := &anec.Conv{Window: anec.UnitWindow, Groups: 1, PaddingMode: td.PadZero}
		k := b.Constant(l.Name+"_mix", anec.ConstantOf(mixes[i]))
		if i == 0 && mixes[1] != nil {
			x = b.Layer(l.Name, conv, x, k)
		} else {
			x = core(conv, x, k)
		}
	}
	put(anec.Identity)
	return x, b.Err()
}

// doubled is how often each of n elements stands among points, one after the other, if that is once or twice; else 0.
func doubled(points []mixedPoint, n int) int {
	times := len(points) / max(n, 1)
	if times < 1 || times > 2 || len(points) != n*times {
		return 0
	}
	for i, p := range points {
		if p.first != i/times || p.share != 0 {
			return 0
		}
	}
	return times
}

// spread repeats elements along H and W.
func spread(b *anec.Builder, l *anec.Layer, y, x int, core builder) *anec.Value {
	channels := l.Bottoms[0].Type.Dims[anec.C]
	ones := slices.Repeat([]float32{1}, channels*y*x)
	k := b.Constant(l.Name+"_ones", anec.ConstantOf(tensor.FromFloat32s(tensor.Float16, ones, channels, 1, 1, y, x)))
	conv := &anec.Conv{Window: anec.UnitWindow, Groups: channels, Transposed: true, PaddingMode: td.PadZero}
	conv.Kernel, conv.Stride = [3]int{1, y, x}, [3]int{1, y, x}
	return core(conv, l.Bottoms[0], k)
}

// A mixed point lies between two elements: so much of the second one.
type mixedPoint struct {
	first, second int
	share         float64
}

// samplePoints are the points of an axis of n elements that gets m; nil for a grid whose meaning is not known.
func samplePoints(r *anec.Resize, n, m int, distance float64) []mixedPoint {
	points := make([]mixedPoint, m)
	for i := range points {
		at, ok := gridPosition(r.Grid, float64(i), float64(n), float64(m))
		switch {
		case !ok:
			return nil
		case distance != 0 && r.Grid == td.GridUnalignedCorners:
			at = (float64(i)+0.5)/distance - 0.5
		case distance != 0:
			at = float64(i) / distance
		}
		at = min(max(at, 0), float64(n-1))
		if r.Method == td.SampleNearest {
			nearest := min(int(roundPosition(r.Rounding, at)), n-1)
			points[i] = mixedPoint{nearest, nearest, 0}
			continue
		}
		first := int(math.Floor(at))
		points[i] = mixedPoint{first, min(first+1, n-1), at - float64(first)}
	}
	return points
}

// gridPosition is where point i of m lies among n elements. Products come before quotients, so that whole numbers stay whole.
func gridPosition(g td.SamplingGrid, i, n, m float64) (float64, bool) {
	switch g {
	case td.GridAlignedCorners:
		if m == 1 {
			return (n - 1) / 2, true
		}
		return i * (n - 1) / (m - 1), true
	case td.GridStrictAlignedCorners:
		return i * (n - 1) / max(1, m-1), true
	case td.GridUnalignedCorners:
		return (i+0.5)*n/m - 0.5, true
	case td.GridOffsetCorners:
		return (i + 0.5) * max(1, n-1) / m, true
	case td.GridDefault:
		return i * n / m, true
	}
	return 0, false
}

func roundPosition(r td.NearestRounding, at float64) float64 {
	switch r {
	case td.RoundPreferCeil:
		return math.Floor(at + 0.5)
	case td.RoundPreferFloor:
		return math.Ceil(at - 0.5)
	case td.RoundCeil:
		return math.Ceil(at)
	case td.RoundFloor:
		return math.Floor(at)
	case td.RoundToOdd:
		if whole := math.Floor(at); at-whole == 0.5 {
			return whole + 1 - math.Mod(whole, 2)
		}
		return math.Round(at)
	}
	return math.RoundToEven(at)
}

// mixOf is the kernel that makes points of n elements; nil if they are the elements.
func mixOf(points []mixedPoint, n int) *tensor.Tensor {
	weights := make([]float32, len(points)*n)
	same := len(points) == n
	for i, p := range points {
		second := float32(p.share)
		weights[i*n+p.first] += 1 - second
		weights[i*n+p.second] += second
		same = same && weights[i*n+i] == 1
	}
	if same {
		return nil
	}
	return tensor.FromFloat32s(tensor.Float16, weights, len(points), 1, n, 1, 1)
}
