package ops

import (
	"math"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// moved is a tensor on the axes of a layer; every element is exact in float64.
type moved struct {
	dims anec.Dims
	vals []float64
}

// newMoved computes each element from its place.
func newMoved(dims anec.Dims, at func(i anec.Dims) float64) *moved {
	n, _ := dims.Count()
	m := &moved{dims: dims, vals: make([]float64, n)}
	for k := range m.vals {
		var i anec.Dims
		for a, rest := anec.NumAxes-1, k; a >= 0; a-- {
			i[a], rest = rest%dims[a], rest/dims[a]
		}
		m.vals[k] = at(i)
	}
	return m
}

// at is an element; axes of length 1 broadcast.
func (m *moved) at(i anec.Dims) float64 {
	k := 0
	for a, n := range m.dims {
		k = k*n + min(i[a], n-1)
	}
	return m.vals[k]
}

func movedOf(t *tensor.Tensor, dims anec.Dims) *moved { return &moved{dims, t.Float64s()} }

// moveGraph computes the outputs of a graph by the words that describe the kinds in package anec. Kinds that compute
// are few here: those that the lowerings of moves use. It is false if there is another one, or much to compute.
func moveGraph(g *anec.Graph, inputs map[string]Value) ([]*moved, bool) {
	have := map[*anec.Value]*moved{}
	for _, v := range g.Values {
		if n, _ := v.Type.Dims.Count(); n > 1<<10 {
			return nil, false
		}
		if v.Const != nil {
			have[v] = decoded(v.Const)
		}
	}
	for _, v := range g.Inputs {
		t, ok := inputs[v.Name].(*tensor.Tensor)
		if !ok {
			return nil, false
		}
		have[v] = movedOf(t, v.Type.Dims)
	}
	for _, s := range g.States {
		have[s.Before] = movedOf(inputs[s.Name].(*State).Read(), s.Before.Type.Dims)
	}
	for _, l := range g.Order() {
		var in []*moved
		for _, b := range l.Bottoms {
			in = append(in, have[b])
		}
		y := moveLayer(l, in)
		if y == nil || len(l.Tops) != 1 {
			return nil, false
		}
		have[l.Top()] = y
	}
	var out []*moved
	for _, v := range g.Outputs {
		out = append(out, have[v])
	}
	return out, true
}

func moveLayer(l *anec.Layer, in []*moved) *moved {
	to := l.Top().Type.Dims
	switch p := l.Params.(type) {
	case *anec.Reshape:
		return &moved{to, in[0].vals}
	case *anec.Transpose:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(p.Perm.Inverse().Apply(i)) })
	case *anec.InputView:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(i.With(p.Axis, p.Offset+p.Step*i[p.Axis])) })
	case *anec.Broadcast:
		return newMoved(to, in[0].at)
	case *anec.Tile:
		return newMoved(to, func(i anec.Dims) float64 {
			for a := range i {
				i[a] %= in[0].dims[a]
			}
			return in[0].at(i)
		})
	case *anec.Concat:
		return newMoved(to, func(i anec.Dims) float64 {
			at := i[p.Axis]
			if p.Interleave {
				return in[at%len(in)].at(i.With(p.Axis, at/len(in)))
			}
			k := 0
			for at >= in[k].dims[p.Axis] {
				at -= in[k].dims[p.Axis]
				k++
			}
			return in[k].at(i.With(p.Axis, at))
		})
	case *anec.Gather:
		return newMoved(to, func(i anec.Dims) float64 {
			from := i
			for k, a := range p.Axes {
				where := i
				if len(p.Axes) > 1 {
					where[anec.C] = k // a vector of indices lies along C
				}
				index, n := int(in[1].at(where)), in[0].dims[a]
				if index < -n || index >= n {
					return 0
				}
				from[a] = place(index, n, 1)
			}
			return in[0].at(from)
		})
	case *anec.Padding:
		return newMoved(to, func(i anec.Dims) float64 { return padElement(p, in[0], i) })
	case *anec.DynamicSlice:
		return newMoved(to, func(i anec.Dims) float64 {
			for k, a := range p.Axes {
				i[a] += place(int(in[1].vals[k]), in[0].dims[a], p.Sizes[k])
			}
			return in[0].at(i)
		})
	case *anec.RingBufferWriter:
		begin := p.Offset
		for k, a := range p.Live {
			begin[a] += place(int(in[2].vals[k]), to[a], in[1].dims[a])
		}
		return newMoved(to, func(i anec.Dims) float64 {
			var u anec.Dims
			for a := range i {
				if u[a] = i[a] - begin[a]; u[a] < 0 || u[a] >= in[1].dims[a] {
					return in[0].at(i)
				}
			}
			return in[1].at(u)
		})
	case *anec.ElementWise:
		f := moveFunctions[p.Type]
		if f == nil || l.Bottoms[0].Type.DType.IsFloat() && p.Type == td.EWDiv {
			return nil
		}
		if p.Type == td.EWMod && slices.ContainsFunc(in[0].vals, func(v float64) bool { return v < -in[1].vals[0] || v >= in[1].vals[0] }) {
			return nil // an index that is nowhere
		}
		return newMoved(to, func(i anec.Dims) float64 {
			v := f(in[0].at(i), in[1].at(i))
			if l.Bottoms[0].Type.DType == tensor.Int32 {
				v = float64(int32(int64(v)))
			}
			return v
		})
	case *anec.Select:
		return newMoved(to, func(i anec.Dims) float64 {
			if in[0].at(i) != 0 {
				return in[1].at(i)
			}
			return in[2].at(i)
		})
	case *anec.TypeCast:
		if l.Bottoms[0].Type.DType.IsInteger() {
			return in[0]
		}
	case *anec.PixelShuffle:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(ungrouped(i, p.Factors, anec.C, 0)) })
	case *anec.ChannelToSpace:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(ungrouped(i, p.Factors, anec.C, to[anec.C])) })
	case *anec.BatchToSpace:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(ungrouped(i, p.Factors, anec.N, to[anec.N])) })
	case *anec.PixelUnshuffle:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(grouped(i, p.Factors, anec.C, 0)) })
	case *anec.SpaceToChannel:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(grouped(i, p.Factors, anec.C, in[0].dims[anec.C])) })
	case *anec.SpaceToBatch:
		return newMoved(to, func(i anec.Dims) float64 { return in[0].at(grouped(i, p.Factors, anec.N, in[0].dims[anec.N])) })
	}
	return nil
}

// place is an index that counts from the end if negative, moved to where a window of some size fits.
func place(at, n, size int) int {
	if at < 0 {
		at += n
	}
	return min(max(at, 0), n-size)
}

var moveFunctions = map[td.EWKind]func(a, b float64) float64{
	td.EWAdd:      func(a, b float64) float64 { return a + b },
	td.EWSub:      func(a, b float64) float64 { return a - b },
	td.EWMult:     func(a, b float64) float64 { return a * b },
	td.EWMax:      math.Max,
	td.EWMin:      math.Min,
	td.EWMod:      func(a, b float64) float64 { return a - b*math.Floor(a/b) },
	td.EWLessThan: func(a, b float64) float64 { return truth(a < b) },
	td.EWEqual:    func(a, b float64) float64 { return truth(a == b) },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func padElement(p *anec.Padding, x *moved, i anec.Dims) float64 {
	for a, n := range x.dims {
		i[a] -= p.Before[a]
		if i[a] >= 0 && i[a] < n {
			continue
		}
		switch p.Mode {
		case td.PadZero:
			return 0
		case td.PadBackground:
			return float64(p.Value)
		case td.PadReplication:
			i[a] = min(max(i[a], 0), n-1)
		case td.PadReflective:
			if i[a] < 0 {
				i[a] = -i[a]
			} else {
				i[a] = 2*(n-1) - i[a]
			}
		}
	}
	return x.at(i)
}

// ungrouped is where the element at a place of space comes from on an outer axis. The place in a block is the inner
// part of the outer number, or the outer one with this many per place.
func ungrouped(i anec.Dims, f anec.Factors, outer td.Axis, perPlace int) anec.Dims {
	block := i[anec.H]%f.Y*f.X + i[anec.W]%f.X
	if perPlace == 0 {
		i[outer] = i[outer]*f.X*f.Y + block
	} else {
		i[outer] += block * perPlace
	}
	i[anec.H], i[anec.W] = i[anec.H]/f.Y, i[anec.W]/f.X
	return i
}

// grouped undoes ungrouped.
func grouped(i anec.Dims, f anec.Factors, outer td.Axis, perPlace int) anec.Dims {
	block, rest := i[outer]%(f.X*f.Y), i[outer]/(f.X*f.Y)
	if perPlace != 0 {
		block, rest = i[outer]/perPlace, i[outer]%perPlace
	}
	i[outer], i[anec.H], i[anec.W] = rest, i[anec.H]*f.Y+block/f.X, i[anec.W]*f.X+block%f.X
	return i
}

// decoded is what a constant says, step by step.
func decoded(c *anec.Constant) *moved {
	stored := c.Stored.Float64s()
	var mask []int64
	if c.Mask != nil {
		mask = c.Mask.Int64s()
	}
	next := 0 // of the stored elements, where there is a mask
	return newMoved(c.Dims, func(i anec.Dims) float64 {
		k, vector := 0, 0
		for a, n := range c.Dims {
			at := i[a]
			if c.Palette != nil && int(c.Palette.VectorAxis) == a {
				width := c.Palette.Table.Shape()[anec.NumAxes+1]
				n, at, vector = n/width, at/width, at%width
			}
			k = k*n + at
		}
		if mask != nil {
			if mask[k] == 0 {
				return 0
			}
			k = next
			next++
		}
		v := stored[k]
		if p := c.Palette; p != nil {
			e := append(blockOf(p.Table.Shape()[:anec.NumAxes], i[:], c.Dims[:]), int(v), vector)
			v = scaledElement(element(p.Table, e), p.Scale, p.Offset, e, p.Table.Shape())
		}
		return scaledElement(v, c.Scale, c.Offset, i[:], c.Dims[:])
	})
}

func scaledElement(v float64, scale, offset *tensor.Tensor, i, dims []int) float64 {
	if scale == nil {
		return v
	}
	b := blockOf(scale.Shape(), i, dims)
	if offset != nil {
		v -= element(offset, b)
	}
	return v * element(scale, b)
}

// blockOf is the place in a grid of the block that has an element.
func blockOf(grid, i, dims []int) []int {
	out := make([]int, len(grid))
	for a, g := range grid {
		out[a] = i[a] / (dims[a] / g)
	}
	return out
}

func element(t *tensor.Tensor, i []int) float64 {
	for a := range i {
		t, _ = t.Slice(a, i[a], 1, 1)
	}
	return t.Float64s()[0]
}

// moveFamilies are the families whose lowerings move elements.
var moveFamilies = [][]Def{
	reshapeOps, sliceOps, joinOps, padOps, spaceBlockOps, reverseOps, gatherOps, scatterOps, stateOps, constexprOps,
}

// movesElements reports whether an operation is of these families.
func movesElements(kind string) bool {
	return kind == "tile" || slices.ContainsFunc(moveFamilies, func(f []Def) bool {
		return slices.ContainsFunc(f, func(d Def) bool { return d.Name == kind })
	})
}

// checkMoves holds a graph that only moves elements to what the evaluator gives.
func checkMoves(t *testing.T, kind string, a args, g *anec.Graph, inputs map[string]Value, want []Value) {
	t.Helper()
	if !movesElements(kind) {
		return
	}
	got, ok := moveGraph(g, inputs)
	if !ok || len(got) != len(want) {
		return
	}
	for i, m := range got {
		w := tensorOf(t, want[i]).Float64s()
		if !slices.EqualFunc(m.vals, w, func(x, y float64) bool {
			return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 2e-3*math.Abs(y)
		}) {
			t.Errorf("%s %v: the layers give %v, the evaluator %v\n%v", kind, a, m.vals, w, anec.Print(g))
		}
	}
}
