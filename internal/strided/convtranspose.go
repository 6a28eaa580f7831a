package strided

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/td"
)

// transposedConv is a transposed convolution as plain ones. Along an axis, element
// i of x and tap t meet at i*stride + t*dilation - before. Places of y that are a
// stride apart meet the same taps, so that among them it is a convolution of
// stride 1; with stride 2, a kernel of 3 and nothing cut off:
//
//	y     0   1   2   3   4          y 0 2 4   taps 2 0 over x
//	taps  0   1   2                  y 1 3     tap  1   over x
//	              0   1   2
//
// The taps go backwards. Their weights, like the places, are a view.
type transposedConv struct {
	parts []Kernel
	tiles []int // up to and with each part
	grain int
}

func isTransposed(op *Op) bool { return op.Params.(*td.Convolution).Transposed }

func bindTransposedConv(op *Op) (Kernel, error) {
	k := &transposedConv{grain: 1 << 30}
	groups := op.Params.(*td.Convolution).Groups
	perGroup := 1
	if y, x := &op.Operands[0], &op.Operands[1]; y.Dims[axisC] == groups && x.Dims[axisC] == groups {
		groups, perGroup = 1, groups // channel by channel: the groups of one convolution
	}
	for i := range op.Operands {
		o := &op.Operands[i]
		moves := groups > 1 || i == 2 && perGroup == 1 // its channels become a view
		if o.Present() && (o.Type.SubByte() || moves && o.Interleave > 1 && o.Dims[axisC] > 1) {
			return nil, fmt.Errorf("operand %d of a transposed convolution is %v with interleave %d: want whole bytes, side by side", i, o.Type, o.Interleave)
		}
	}
	var phases [3][]phase
	for s := range phases {
		phases[s] = axisPhases(op, s)
	}
	for g := range groups {
		for _, d := range phases[0] {
			for _, h := range phases[1] {
				for _, w := range phases[2] {
					if err := k.add(op, g, groups, perGroup, [3]phase{d, h, w}); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return k, nil
}

// A phase is the places first, first+stride, … of y along an axis, and the taps
// that they meet: tap, tap+step, …
type phase struct {
	first, places int
	tap, step     int
	taps          int
	dilation      int // of the taps, in elements of x
	before        int // by which the last tap of the first place lies before x
}

func axisPhases(op *Op, s int) []phase {
	win, extent := &op.Params.(*td.Convolution).Window, op.Operands[0].Dims[axisD]
	if s > 0 {
		extent = op.Operands[0].Dims[axisH+s-1]
	}
	stride, dilation := win.Stride[s], win.Dilation[s]
	step := stride / gcd(stride, dilation)
	phases := make([]phase, 0, min(stride, extent))
	for first := range min(stride, extent) {
		p := phase{first: first, places: (extent - first + stride - 1) / stride, step: step, dilation: step * dilation / stride}
		at := first + win.PadBefore[s]
		for p.tap < min(step, win.Kernel[s]) && (at-p.tap*dilation)%stride != 0 {
			p.tap++
		}
		if p.tap < min(step, win.Kernel[s]) {
			p.taps = (win.Kernel[s]-1-p.tap)/step + 1
			p.before = -(at - (p.tap+(p.taps-1)*step)*dilation) / stride
		}
		phases = append(phases, p)
	}
	return phases
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// add binds the convolution of a group and a phase along each axis.
func (k *transposedConv) add(op *Op, group, groups, perGroup int, phases [3]phase) error {
	part := &Op{Epilogue: op.Epilogue, Packs: op.Packs, Rules: op.Rules, Gemm: op.Gemm, Operands: append([]Operand(nil), op.Operands...)}
	y, x, w := &part.Operands[0], &part.Operands[1], &part.Operands[2]
	whole, stride := y.Dims, op.Params.(*td.Convolution).Stride
	for i := range part.Operands {
		o := &part.Operands[i]
		if !o.Present() {
			continue
		}
		switch i {
		case 1:
			o.slice(axisC, group*x.Dims[axisC]/groups, x.Dims[axisC]/groups, 1)
		case 2:
			o.slice(axisN, group*w.Dims[axisN]/groups, w.Dims[axisN]/groups, 1)
			if perGroup == 1 { // else both have one channel of a group along C
				o.Dims[axisN], o.Dims[axisC] = o.Dims[axisC], o.Dims[axisN]
				o.Strides[axisN], o.Strides[axisC] = o.Strides[axisC], o.Strides[axisN]
			}
			for s, p := range phases {
				o.slice(spatial[s], p.tap+max(p.taps-1, 0)*p.step, p.taps, -p.step)
			}
		default: // y, the bias, and what the epilogue reads
			if o.Dims[axisC] == whole[axisC] {
				o.slice(axisC, group*whole[axisC]/groups, whole[axisC]/groups, 1)
			}
			for s, p := range phases {
				if a := spatial[s]; i == 0 || o.Dims[a] > 1 {
					o.slice(a, p.first, p.places, stride[s])
				}
			}
		}
	}
	params := &td.Convolution{Groups: perGroup, Window: td.UnitWindow}
	for s, p := range phases {
		params.Kernel[s], params.Dilation[s], params.PadBefore[s] = p.taps, p.dilation, p.before
	}
	part.Params = params
	bind := bindConv
	if isChannelwise(part) {
		bind = bindChannelwise
	}
	bound, err := bind(part)
	if err != nil {
		return err
	}
	n, grain := bound.Tiles()
	if n == 0 {
		return nil
	}
	if len(k.tiles) > 0 {
		n += k.tiles[len(k.tiles)-1]
	}
	k.parts, k.tiles, k.grain = append(k.parts, bound), append(k.tiles, n), min(k.grain, grain)
	return nil
}

// spatial are the axes of a window.
var spatial = [3]int{axisD, axisH, axisW}

// slice makes a view of n elements from one on, a step apart.
func (o *Operand) slice(axis, from, n, step int) {
	if o.Dims[axis] > 1 {
		o.Offset += int64(from) * o.Strides[axis]
		o.Strides[axis] *= int64(step)
	}
	o.Dims[axis] = n
}

func (k *transposedConv) Tiles() (n, grain int) {
	if len(k.tiles) == 0 {
		return 0, 1
	}
	return k.tiles[len(k.tiles)-1], k.grain
}

func (k *transposedConv) Need() (n Need) {
	for _, p := range k.parts {
		n = n.Max(p.Need())
	}
	return n
}

func (k *transposedConv) Run(w *Scratch, lo, hi int) {
	for i, _ := slices.BinarySearch(k.tiles, lo+1); lo < hi; i++ {
		first := 0
		if i > 0 {
			first = k.tiles[i-1]
		}
		end := min(hi, k.tiles[i])
		k.parts[i].Run(w, lo-first, end-first)
		lo = end
	}
}
