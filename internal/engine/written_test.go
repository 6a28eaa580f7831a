package engine_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A writtenProgram is a container that we write, and the plain computation that it
// stands for. These need no data from outside the repository.
type writtenProgram struct {
	name  string
	build func(b *builder)
	// compute gets the inputs in the order of the ports.
	compute func(in [][]float32) []float32
}

const (
	portA = hwx.BasePorts + iota
	portB
	portC
)

// halvesOf converts numbers to fp16 bits.
func halvesOf(values []float32) []uint16 {
	h := make([]uint16, len(values))
	for i, v := range values {
		h[i] = tensor.ToF16(v)
	}
	return h
}

var writtenPrograms = []writtenProgram{
	{
		name: "relu",
		build: func(b *builder) {
			size := dims{3, 5, 7}
			b.port("x", hwx.In, 1, 3, 5, 7)
			b.port("y", hwx.Out, 1, 3, 5, 7)
			b.bypass(size, false).from(portA, portSurface(size)).to(portB, portSurface(size)).set(td.V7NENonLinear, 1)
		},
		compute: func(in [][]float32) []float32 { return relu(in, nil) },
	},
	{
		name: "subtract a batch",
		build: func(b *builder) {
			size := dims{5, 3, 6}
			b.port("x", hwx.In, 2, 5, 3, 6)
			b.port("z", hwx.In, 2, 5, 3, 6)
			b.port("y", hwx.Out, 2, 5, 3, 6)
			b.task(td.TypePlanarBinary, size, size, false).set(td.V7Groups, 2).
				from(portA, portSurface(size)).with(portB, portSurface(size)).to(portC, portSurface(size)).
				set(td.V7PESource2Sign, 3)
		},
		compute: func(in [][]float32) []float32 {
			y := make([]float32, len(in[0]))
			for i := range y {
				y[i] = in[0][i] - in[1][i]
			}
			return y
		},
	},
	{
		// Sixteen streams of 512 bytes; 64 of the halfwords are 0x3c00.
		name: "identity linear layer",
		build: func(b *builder) {
			size := dims{64, 1, 1}
			b.port("x", hwx.In, 1, 64, 1, 1)
			b.port("y", hwx.Out, 1, 64, 1, 1)
			identity := make([]uint16, 64*64)
			for i := range 64 {
				identity[i*64+i] = 0x3c00
			}
			b.task(td.TypeArray, size, size, true).engines(4, 2).
				from(portA, portSurface(size)).to(portB, portSurface(size)).
				weights(&td.Weights{Values: identity})
		},
		compute: func(in [][]float32) []float32 { return in[0] },
	},
	{
		name: "convolution 3x3 with bias",
		build: func(b *builder) {
			in, out := dims{3, 6, 7}, dims{5, 6, 7}
			b.port("x", hwx.In, 1, 3, 6, 7)
			b.port("y", hwx.Out, 1, 5, 6, 7)
			b.task(td.TypeArray, in, out, true).engines(3, 0).
				set(td.V7KernelWidth, 3).set(td.V7KernelHeight, 3).set(td.V7PadLeft, 1).set(td.V7PadTop, 1).
				from(portA, portSurface(in)).to(portB, portSurface(out)).
				set(td.V7NEBias, 1).
				weights(&td.Weights{Values: halvesOf(seeded(5 * 27)()), Bias: halvesOf(seeded(5)())})
		},
		compute: func(in [][]float32) []float32 {
			return convolve(in[0], seeded(5*27)(), seeded(5)(), convolution{in: dims{3, 6, 7}, out: dims{5, 6, 7}, kernel: 3, stride: 1, pad: 1, groups: 1})
		},
	},
	{
		name: "grouped convolution 1x3",
		build: func(b *builder) {
			in, out := dims{2, 4, 9}, dims{3, 4, 7}
			b.port("x", hwx.In, 1, 6, 4, 9)
			b.port("y", hwx.Out, 1, 9, 4, 7)
			b.task(td.TypeArray, in, out, true).engines(1, 1).set(td.V7Groups, 3).
				set(td.V7KernelWidth, 3).
				from(portA, portSurface(in)).to(portB, portSurface(out)).
				weights(&td.Weights{Values: halvesOf(seeded(9 * 6)())})
		},
		compute: func(in [][]float32) []float32 {
			// As a 3x3 kernel whose other rows are zero.
			w := make([]float32, 9*2*9)
			for i, v := range seeded(9 * 6)() {
				w[i/3*9+3+i%3] = v
			}
			full := convolve(in[0], w, nil, convolution{in: dims{2, 4, 9}, out: dims{3, 4, 9}, kernel: 3, stride: 1, pad: 1, groups: 3})
			var y []float32
			for row := 0; row < len(full); row += 9 {
				y = append(y, full[row+1:row+8]...)
			}
			return y
		},
	},
	{
		name: "zero-skipping convolution with stride 2",
		build: func(b *builder) {
			in, out := dims{2, 7, 6}, dims{4, 4, 3}
			b.port("x", hwx.In, 1, 2, 7, 6)
			b.port("y", hwx.Out, 1, 4, 4, 3)
			b.task(td.TypeArray, in, out, true).engines(1, 1).
				set(td.V7KernelWidth, 3).set(td.V7KernelHeight, 3).set(td.V7StrideX, 2).set(td.V7StrideY, 2).
				set(td.V7PadLeft, 1).set(td.V7PadTop, 1).
				set(td.V7NEZeroSkip, 1).set(td.V7KernelZeroSkip, 1).
				from(portA, portSurface(in)).to(portB, portSurface(out)).
				weights(&td.Weights{Values: halvesOf(seeded(4 * 18)())})
		},
		compute: func(in [][]float32) []float32 {
			return convolve(in[0], seeded(4*18)(), nil, convolution{in: dims{2, 7, 6}, out: dims{4, 4, 3}, kernel: 3, stride: 2, pad: 1, groups: 1})
		},
	},
	{
		name: "leaky ReLU by table",
		build: func(b *builder) {
			size := dims{2, 2, 9}
			b.port("x", hwx.In, 1, 2, 2, 9)
			b.port("y", hwx.Out, 1, 2, 2, 9)
			b.bypass(size, true).from(portA, portSurface(size)).to(portB, portSurface(size)).
				set(td.V7NENonLinear, 2).
				weights(&td.Weights{Table: td.LeakyReLUTable(tensor.ToF16(0.125)).Encode()})
		},
		compute: func(in [][]float32) []float32 {
			y := make([]float32, len(in[0]))
			for i, v := range in[0] {
				y[i] = max(v, v/8)
			}
			return y
		},
	},
	{
		// x[5][16] · w[12][16]: x is brought into channels, the product leaves
		// transposed.
		name: "matrix product in two tasks",
		build: func(b *builder) {
			b.port("x", hwx.In, 1, 1, 5, 16)
			b.port("y", hwx.Out, 1, 1, 5, 12)
			rows, image := dims{5, 1, 16}, dims{16, 1, 5}
			onChip := chip{base: 0x40, channel: 0x10, row: 0x100}
			b.bypass(rows, false).from(portA, surface{row: 64, plane: 64, interleave: 1}).
				toChip(onChip).set(td.V7TransposeArray, 1)
			b.task(td.TypeArray, image, dims{12, 1, 5}, true).engines(2, 1).fromChip(onChip).
				to(portB, surface{row: 64, plane: 64, interleave: 1}).set(td.V7TransposeArray, 1).
				weights(&td.Weights{Values: halvesOf(seeded(12 * 16)())})
		},
		compute: func(in [][]float32) []float32 { return product(in[0], seeded(12*16)(), 5, 16, 12) },
	},
	{
		// y[5][4] = k[5][16] · x[16][4]: k is stored as kernel streams, of two
		// lanes, in scratch.
		name: "matrix product of two inputs",
		build: func(b *builder) {
			b.port("k", hwx.In, 1, 1, 6, 16)
			b.port("x", hwx.In, 1, 1, 16, 4)
			b.port("y", hwx.Out, 1, 1, 6, 4)
			b.spec.Scratch = 0x4000
			rows := dims{6, 1, 16}
			b.task(td.TypePlanarUnary, rows, rows, false).
				from(portA, surface{row: 64, plane: 64, interleave: 1}).
				to(hwx.BaseScratch, surface{row: 64, plane: 64, interleave: 2})
			t := b.task(td.TypeArray, dims{16, 1, 4}, dims{6, 1, 4}, true).engines(2, 1).
				from(portB, surface{row: 64, plane: 64, interleave: 1}).
				to(portC, surface{row: 64, plane: 64, interleave: 1}).
				set(td.V7KernelEnable, 1).set(td.V7NEKernelFormat, 2).set(td.V7NERuntimeKernel, 1).
				set(td.V7KernelBase[0], hwx.BaseScratch).set(td.V7KernelBaseEnable[0], 1)
			for e := range 3 {
				c := &td.V7KernelChannel[e]
				t.set(c.Config.Enable, 1).set(c.Offset, 64*e).set(c.Size, 64)
			}
		},
		compute: func(in [][]float32) []float32 {
			x := make([]float32, 64) // transposed
			for i, v := range in[1] {
				x[i%4*16+i/4] = v
			}
			return product(in[0], x, 6, 16, 4)
		},
	},
	{
		// The mean of relu(x)·z over each plane: x is kept on chip by the first
		// task, its ReLU too.
		name: "chain on chip",
		build: func(b *builder) {
			size := dims{4, 3, 5}
			b.port("x", hwx.In, 1, 4, 3, 5)
			b.port("z", hwx.In, 1, 4, 3, 5)
			b.port("y", hwx.Out, 1, 4, 1, 1)
			kept, positive, scaled := chip{0, 0x10, 0x50}, chip{0x200, 0x10, 0x40}, chip{0x300, 0x10, 0x60}
			b.bypass(size, false).from(portA, portSurface(size)).keep(kept).toChip(positive).set(td.V7NENonLinear, 1)
			b.task(td.TypePlanarBinary, size, size, false).from(portB, portSurface(size)).withChip(positive).
				set(td.V7PEOperator, 1).toChip(scaled)
			// relu(x)·z + x - x is no news, but reads what was kept.
			b.task(td.TypePlanarBinary, size, size, false).fromChip(scaled).withChip(kept).toChip(scaled)
			b.task(td.TypePlanarReduce2, size, size, false).fromChip(scaled).withChip(kept).set(td.V7PESource2Sign, 3).
				set(td.V7PEFinalScale, int(math.Float32bits(0x1p-4))).
				to(portC, portSurface(dims{4, 1, 1}))
		},
		compute: func(in [][]float32) []float32 {
			y := make([]float32, 4)
			for i, v := range in[0] {
				p := tensor.RoundF16(max(v, 0) * in[1][i])
				y[i/15] += tensor.RoundF16(p+v) - v
			}
			for i := range y {
				y[i] /= 16
			}
			return y
		},
	},
	{
		// (x + offset[c])·gain[c], then the largest of each pair of channels.
		name: "gain and channel maximum",
		build: func(b *builder) {
			size := dims{6, 2, 3}
			b.port("x", hwx.In, 1, 6, 2, 3)
			b.port("c", hwx.In, 1, 1, 2, 6)
			b.port("y", hwx.Out, 1, 3, 2, 3)
			constants, scaled := chip{0, 0x10, 0x10}, chip{0x100, 0x10, 0x70}
			b.bypass(dims{1, 2, 6}, false).from(portB, portSurface(dims{1, 2, 6})).toChip(constants)
			b.task(td.TypePlanarGain, size, size, false).from(portA, portSurface(size)).
				withChip(constants).set(td.V7Transpose2, 1).toChip(scaled)
			b.task(td.TypeArray, size, dims{3, 2, 3}, false).fromChip(scaled).to(portC, portSurface(dims{3, 2, 3})).
				set(td.V7Unicast, 1).set(td.V7UnicastInputs, 2).set(td.V7NEOperation, 3).set(td.V7NEUnityKernel, 1).
				set(td.V7PadMode, 1)
		},
		compute: func(in [][]float32) []float32 {
			x, c := in[0], in[1]
			y := make([]float32, 18)
			for i := range y {
				y[i] = float32(math.Inf(-1))
			}
			for i, v := range x {
				ch := i / 6
				o := ch/2*6 + i%6
				y[o] = max(y[o], tensor.RoundF16((v+c[ch])*c[6+ch]))
			}
			return y
		},
	},
}

// convolution is a plain convolution with square kernels.
type convolution struct {
	in, out             dims // of one group
	kernel, stride, pad int
	groups              int
}

func convolve(x, w, bias []float32, s convolution) []float32 {
	y := make([]float32, s.groups*s.out.c*s.out.h*s.out.w)
	for i := range y {
		col, row, o := i%s.out.w, i/s.out.w%s.out.h, i/s.out.w/s.out.h
		var sum float64
		if bias != nil {
			sum = float64(bias[o])
		}
		for ci := range s.in.c {
			for ky := range s.kernel {
				for kx := range s.kernel {
					h, c := row*s.stride+ky-s.pad, col*s.stride+kx-s.pad
					if h < 0 || h >= s.in.h || c < 0 || c >= s.in.w {
						continue
					}
					from := ((o/s.out.c*s.in.c+ci)*s.in.h+h)*s.in.w + c
					sum += float64(x[from]) * float64(w[((o*s.in.c+ci)*s.kernel+ky)*s.kernel+kx])
				}
			}
		}
		y[i] = float32(sum)
	}
	return y
}

// product is a[m][k] times the transpose of b[n][k].
func product(a, b []float32, m, k, n int) []float32 {
	y := make([]float32, m*n)
	for i := range y {
		var sum float64
		for j := range k {
			sum += float64(a[i/n*k+j]) * float64(b[i%n*k+j])
		}
		y[i] = float32(sum)
	}
	return y
}

func (o *writtenProgram) file(t testing.TB) *hwx.File {
	t.Helper()
	b := newBuilder(t)
	o.build(b)
	return b.file()
}

func TestOwnPrograms(t *testing.T) {
	for _, o := range writtenPrograms {
		t.Run(o.name, func(t *testing.T) {
			file := o.file(t)
			testkit.Golden(t, "testdata/"+strings.ReplaceAll(o.name, " ", "-")+".golden", describe(t, file))
			for _, row := range gemm.Usable() {
				p, err := engine.LoadWith(file, engine.Options{Numerics: plain, Gemm: row.Name})
				if err != nil {
					t.Fatal(err)
				}
				r := newRand(5)
				for range 5 {
					inputs := make(map[string][]float32)
					var in [][]float32
					for _, port := range p.Ports() {
						if port.Direction != engine.Output {
							inputs[port.Name] = grid(r, port.Len())
							in = append(in, inputs[port.Name])
						}
					}
					equal(t, row.Name, execute(t, p, inputs)["y"], o.compute(in))
				}
			}
		})
	}
}

// describe writes a container down: its ports, the words of its tasks that are
// not zero, and its constants.
func describe(t testing.TB, file *hwx.File) []byte {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	ports, err := file.Ports()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		fmt.Fprintf(w, "port %s %v %v %d strides %d\n", p.Name, p.Direction, p.Element, p.Shape, p.Strides)
	}
	program, err := file.Program()
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := td.DecodeStream(td.V7, file.Text().Data, 0, program.FirstTaskWords)
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range tasks {
		fmt.Fprintf(w, "task %d at %#x\n  header %08x\n", i, task.Offset, task.Header)
		for _, rec := range task.Records {
			for j, word := range rec.Words {
				if word != 0 {
					fmt.Fprintf(w, "  %#05x %08x\n", rec.Addr+4*uint32(j), word)
				}
			}
		}
	}
	constants := file.Constants().Data
	fmt.Fprintf(w, "constants %#x\n", len(constants))
	for at := 0; at < len(constants); at += 32 {
		if row := constants[at:min(at+32, len(constants))]; len(bytes.Trim(row, "\x00")) > 0 {
			fmt.Fprintf(w, "  %#06x %s\n", at, hex.EncodeToString(row))
		}
	}
	w.Flush()
	return b.Bytes()
}

// TestIdentityStreams holds the identity layer to the shape that is published
// for it.
func TestIdentityStreams(t *testing.T) {
	for _, o := range writtenPrograms {
		if o.name != "identity linear layer" {
			continue
		}
		constants := o.file(t).Constants().Data
		ones := bytes.Count(constants, []byte{0x00, 0x3c})
		if len(constants) != 16*512 || ones != 64 {
			t.Errorf("%d bytes with %d halfwords of 1; want %d with 64", len(constants), ones, 16*512)
		}
		return
	}
	t.Fatal("no identity layer")
}
