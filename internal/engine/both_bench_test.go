package engine_test

import (
	"context"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// A speed is a computation that is worth measuring, in both encodings.
type speed struct {
	name string
	both
	work int // multiplications; 0: elements are what counts
}

// window is a square kernel, with as much padding as keeps the size.
func (t *task) window(kernel int) *task {
	return t.set(td.V7KernelWidth, kernel).set(td.V7KernelHeight, kernel).set(td.V7PadLeft, kernel/2).set(td.V7PadTop, kernel/2)
}

// convolutionOf is a convolution that keeps the size of its image.
func convolutionOf(in, out dims, kernel, log2Lanes int) both {
	inputs := in.c
	weights := seeded(out.c * inputs * kernel * kernel)
	w := td.UnitWindow
	w.Kernel = [3]int{1, kernel, kernel}
	w.PadBefore = [3]int{0, kernel / 2, kernel / 2}
	w.PadAfter = w.PadBefore
	return both{
		v7: func(b *builder) {
			b.port("x", hwx.In, 1, uint32(in.c), uint32(in.h), uint32(in.w))
			b.port("y", hwx.Out, 1, uint32(out.c), uint32(out.h), uint32(out.w))
			b.task(td.TypeArray, in, out, true).engines(4, log2Lanes).window(kernel).
				from(portA, portSurface(in)).to(portB, portSurface(out)).
				weights(&td.Weights{Values: halvesOf(weights())})
		},
		op: operation{
			ports: []hwx.PortSpec{
				port("x", hwx.In, 1, uint32(in.c), uint32(in.h), uint32(in.w)),
				port("y", hwx.Out, 1, uint32(out.c), uint32(out.h), uint32(out.w)),
			},
			constants: weights(), constant: [td.NumAxes]int{out.c, 1, inputs, kernel, kernel},
			params: &td.Convolution{Window: w, Groups: 1},
		},
	}
}

// depthwiseOf is a convolution of each channel by itself.
func depthwiseOf(size dims, kernel int) both {
	weights := seeded(size.c * kernel * kernel)
	w := td.UnitWindow
	w.Kernel = [3]int{1, kernel, kernel}
	w.PadBefore = [3]int{0, kernel / 2, kernel / 2}
	w.PadAfter = w.PadBefore
	x := port("x", hwx.In, 1, uint32(size.c), uint32(size.h), uint32(size.w))
	y := port("y", hwx.Out, x.Shape[:]...)
	return both{
		v7: func(b *builder) {
			b.port("x", hwx.In, 1, uint32(size.c), uint32(size.h), uint32(size.w))
			b.port("y", hwx.Out, 1, uint32(size.c), uint32(size.h), uint32(size.w))
			b.task(td.TypeArray, size, size, true).engines(4, 0).window(kernel).set(td.V7Unicast, 1).
				from(portA, portSurface(size)).to(portB, portSurface(size)).
				weights(&td.Weights{Values: halvesOf(weights())})
		},
		op: operation{
			ports: []hwx.PortSpec{x, y}, constants: weights(), constant: [td.NumAxes]int{size.c, 1, 1, kernel, kernel},
			params: &td.Convolution{Window: w, Groups: size.c},
		},
	}
}

// sumOf is x + z.
func sumOf(size dims) both {
	x := port("x", hwx.In, 1, uint32(size.c), uint32(size.h), uint32(size.w))
	z, y := x, x
	z.Name, y.Name, y.Direction = "z", "y", hwx.Out
	return both{
		v7: func(b *builder) {
			for _, p := range []hwx.PortSpec{x, z, y} {
				b.port(p.Name, p.Direction, p.Shape[0], p.Shape[1], p.Shape[2], p.Shape[3])
			}
			b.task(td.TypePlanarBinary, size, size, false).
				from(portA, portSurface(size)).with(portB, portSurface(size)).to(portC, portSurface(size))
		},
		op: operation{ports: []hwx.PortSpec{x, z, y}, params: &td.ElementWise{Kind: td.EWAdd}},
	}
}

// tanhOf is a table.
func tanhOf(size dims) both {
	x := port("x", hwx.In, 1, uint32(size.c), uint32(size.h), uint32(size.w))
	y := port("y", hwx.Out, x.Shape[:]...)
	return both{
		v7: func(b *builder) {
			b.port("x", hwx.In, 1, uint32(size.c), uint32(size.h), uint32(size.w))
			b.port("y", hwx.Out, 1, uint32(size.c), uint32(size.h), uint32(size.w))
			b.bypass(size, true).engines(4, 0).set(td.V7NENonLinear, 2).
				from(portA, portSurface(size)).to(portB, portSurface(size)).
				weights(&td.Weights{Table: td.TanhTable().Encode()})
		},
		op: operation{
			ports: []hwx.PortSpec{x, y}, params: &td.Copy{},
			epilogue: []td.MicroOp{{Code: td.MicroActivation, Function: uint8(td.FuncTanh)}},
		},
	}
}

// planeSumsOf is the sum of each plane.
func planeSumsOf(size dims) both {
	x := port("x", hwx.In, 1, uint32(size.c), uint32(size.h), uint32(size.w))
	y := port("y", hwx.Out, 1, uint32(size.c), 1, 1)
	return both{
		v7: func(b *builder) {
			b.port("x", hwx.In, 1, uint32(size.c), uint32(size.h), uint32(size.w))
			b.port("y", hwx.Out, 1, uint32(size.c), 1, 1)
			b.task(td.TypePlanarReduce, size, size, false).
				from(portA, portSurface(size)).to(portB, portSurface(dims{size.c, 1, 1}))
		},
		op: operation{ports: []hwx.PortSpec{x, y}, params: &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisH, td.AxisW)}},
	}
}

var speeds = []speed{
	{"conv3x3", convolutionOf(dims{64, 28, 28}, dims{64, 28, 28}, 3, 2), 64 * 64 * 9 * 28 * 28},
	{"conv1x1", convolutionOf(dims{128, 28, 28}, dims{256, 28, 28}, 1, 4), 128 * 256 * 28 * 28},
	{"conv5x5", convolutionOf(dims{20, 33, 31}, dims{24, 33, 31}, 5, 0), 20 * 24 * 25 * 33 * 31},
	{"linear1", convolutionOf(dims{1024, 1, 1}, dims{1024, 1, 1}, 1, 4), 1024 * 1024},
	{"linear64", convolutionOf(dims{1024, 1, 64}, dims{1024, 1, 64}, 1, 4), 1024 * 1024 * 64},
	{"depthwise3x3", depthwiseOf(dims{128, 28, 28}, 3), 128 * 9 * 28 * 28},
	{"add", sumOf(dims{64, 56, 56}), 0},
	{"tanh", tanhOf(dims{64, 56, 56}), 0},
	{"plane sums", planeSumsOf(dims{64, 56, 56}), 0},
}

// BenchmarkEncodings runs native tasks of H13 and the same operations as extensions.
func BenchmarkEncodings(b *testing.B) {
	for _, s := range speeds {
		files := s.files(b)
		for _, encoding := range []string{"version 7", "extension"} {
			b.Run(s.name+"/"+encoding, func(b *testing.B) {
				p := load(b, files[encoding], h13(b))
				c := p.NewContext()
				n := 0
				for i, q := range p.Ports() {
					n = q.Len()
					if q.Name != "y" {
						if err := c.Set(q.Name, mild(n, i)); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := p.RunAll(context.Background(), c); err != nil {
						b.Fatal(err)
					}
				}
				if s.work > 0 {
					b.ReportMetric(float64(s.work)*float64(b.N)/1e9/b.Elapsed().Seconds(), "GMAC/s")
				}
			})
		}
	}
}

// mild are numbers as activations are: no sum of products comes near the port's limit.
func mild(n, seed int) []float32 {
	values := seeded(n + seed)()[:n]
	for i := range values {
		values[i] /= 64
	}
	return values
}
