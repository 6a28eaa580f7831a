package td

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestTransposedConvolutionCheck(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(p *Convolution, y *Operand)
		problem string
	}{
		{"as reached", func(*Convolution, *Operand) {}, ""},
		{"more at the end", func(_ *Convolution, y *Operand) { y.Dims[AxisW] = 12 }, ""},
		{"less", func(_ *Convolution, y *Operand) { y.Dims[AxisW] = 6 }, "y has 6 along W, the window over 3 leaves 7"},
		{"cut off", func(p *Convolution, y *Operand) { p.PadAfter[2], y.Dims[AxisW] = 1, 6 }, ""},
		{"channels as if plain", func(_ *Convolution, y *Operand) { y.Dims[AxisC] = 2 }, "y has 2 channels, w makes 4"},
		{"no stride", func(p *Convolution, _ *Operand) { p.Stride[2] = 0 }, "stride 0"},
		{"too many phases", func(p *Convolution, y *Operand) { p.Stride = [3]int{1, 200, 200}; y.Dims[AxisW] = 403 }, "at most 16384"},
	} {
		p := &Convolution{Window: UnitWindow, Groups: 1, Transposed: true}
		p.Kernel[2], p.Stride[2] = 3, 2
		op := &Op{Params: p, Operands: []Operand{
			Dense(0, 0, tensor.Float32, [NumAxes]int{1, 1, 4, 1, 7}),
			Dense(1, 0, tensor.Float32, [NumAxes]int{1, 1, 2, 1, 3}),
			Dense(2, 0, tensor.Float32, [NumAxes]int{2, 1, 4, 1, 3}),
		}}
		tt.change(p, &op.Operands[0])
		err := p.check(op)
		switch {
		case tt.problem == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
			t.Errorf("%s: error %v, expected %q", tt.name, err, tt.problem)
		}
	}
}
