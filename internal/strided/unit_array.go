package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/internal/units"
)

// The multiply array (h13 4.3):
//
//	out[o][y][x] = f(post·(bias[o] + Σ in[ci][y·sy+ky-py][x·sx+kx-px]·w[o][i][ky][kx]))
//
// with ci = i, or o·inputs + i in unicast.

func (b *BoundUnit) bindArray(u *Unit) {
	s := &convShape{
		cin: u.In.C, hin: u.In.H, win: u.In.W, cout: u.Out.C, hout: u.Out.H, wout: u.Out.W,
		kh: u.Window.KH, kw: u.Window.KW, sy: u.Window.SY, sx: u.Window.SX, py: u.Window.PY, px: u.Window.PX,
		inputs: u.In.C, unicast: u.Unicast > 0,
	}
	if s.unicast {
		s.inputs = u.Unicast
	}
	b.PerTile = float64(s.wout) * float64(s.weights()) * float64(s.hout) // a plane
	b.Steps = float64(u.Groups) * float64(s.cout) * b.PerTile
	out := newArrayOutput(u)
	if u.Operation == units.Bypass {
		b.Steps, b.PerTile = 0, 0
		order := orderOf(u)
		b.bindElements(u, order, newCopyPass(u, out, order), func(w *Scratch, lo, hi int, x []float32) []float32 {
			if out != nil {
				out.apply(x)
			}
			return x
		})
		return
	}
	load := newLoader(&u.Source1, u.reading(1), denseDims{u.Groups, u.In}, (*Buffers).source1)
	if u.Weights != nil || u.Runtime != nil {
		if u.Runtime != nil {
			b.add(newWeightLoader(u.Runtime, s.weights(), u.Rules.weights()))
		}
		k := newDense(*s, u.Groups, u.Rules, u.Gemm, u.Packs, u.Weights)
		n, _ := k.Tiles()
		b.PerTile = b.Steps / float64(n)
		moves := k.moves(u, out)
		if b.First = !moves || k.moved.from == nil; b.First {
			b.add(load)
		}
		if b.add(k); moves {
			b.Over = s.unicast
			return
		}
	} else {
		b.First = true
		b.add(load)
		toZero := u.sums() && u.Rules != nil && u.Rules.IndeterminateToZero
		in, out := s.cin*s.hin*s.win, s.cout*s.hout*s.wout
		b.add(&sweep{u.Groups * s.cout, s.inputs * s.hin * s.win, func(w *Scratch, lo, hi int) {
			for lo < hi {
				g := lo / s.cout
				first, last := lo-g*s.cout, min(hi-g*s.cout, s.cout)
				reduceChannels(w.Dense.Result[g*out:][:out], w.Dense.Source1[g*in:][:in], u.Operation, s, toZero, first, last)
				lo += last - first
			}
		}, Need{}})
	}
	if out != nil {
		b.add(&sweep{u.Groups * s.cout * s.hout * s.wout, 1, func(w *Scratch, lo, hi int) {
			out.apply(w.Dense.Result[lo:hi])
		}, Need{}})
	}
	b.add(newStorer(u))
}

// arrayOutput is the way from the accumulator to the result.
type arrayOutput struct {
	bias  float32  // added to every accumulator
	port  *arrival // nil: there is nothing at the port
	scale float32  // post scale
	relu  bool
	table *Activation // nil: none
}

// newArrayOutput is that of an operation, nil if it changes nothing.
func newArrayOutput(u *Unit) *arrayOutput {
	a := &arrayOutput{
		bias: half.Float(u.Accumulate), scale: half.Float(u.Post), relu: u.NonLinear == units.ReLU, table: u.Table,
	}
	if r := u.Rules; r != nil && u.sums() {
		port := arrival{flush: r.FlushArraySubnormals}
		if !u.single() {
			port.port = r.SaturateAtPort
		}
		if port != (arrival{}) {
			a.port = &port
		}
	}
	if *a == (arrayOutput{scale: 1}) {
		return nil
	}
	return a
}

func (a *arrayOutput) apply(v []float32) {
	if a.bias != 0 {
		vec.Plus(v, a.bias)
	}
	if a.port != nil {
		a.port.apply(v)
	}
	if a.scale != 1 {
		times(v, a.scale)
	}
	if a.relu {
		relu(v)
	}
	if a.table != nil {
		a.table.apply(v)
	}
}

// reduceChannels reduces, at every place, the channels that an output reads, one
// after the other. The window is a single tap without stride.
func reduceChannels(dst, src []float32, operation uint32, s *convShape, toZero bool, lo, hi int) {
	plane := s.hout * s.wout
	for o := lo; o < hi; o++ {
		out := dst[o*plane : (o+1)*plane]
		from := float32(0)
		switch operation {
		case units.Maximum:
			from = -infinity
		case units.Product:
			from = 1
		}
		for i := range out {
			out[i] = from
		}
		for i := range s.inputs {
			for p, x := range src[(s.first(o)+i)*plane:][:plane] {
				v := out[p]
				switch operation {
				case units.Maximum:
					out[p] = max(v, x)
					continue
				case units.Product:
					v *= x
				default:
					v += x
				}
				if toZero {
					v = orZero(v, out[p], x)
				}
				out[p] = v
			}
		}
	}
}
