// Package v7 reads tasks of version 7, native to H13, as operations of the
// array and the planar engine.
//
// All that is known of the registers' forms stands here: a value that has no
// known meaning, or none that a recorded program shows to be right, stops the
// load, and the error names the field. Where operands lie, and whether there is
// anything, is not looked at.
//
// Facts are cited as in "h13 4.3", a section of the fact sheet that was checked
// on real programs, and "oracles 3", a section of the sheet about recorded
// compiler output.
package v7

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A Decoder reads the tasks of a program, in the order of the list. Registers
// outlive a task: one that a task does not write keeps its value (h13 2.1).
type Decoder struct {
	registers *td.Registers
	task      *td.Task  // the last
	op        *units.Op // that it is
}

// New makes a decoder with registers that nothing has written.
func New() *Decoder { return &Decoder{registers: td.NewRegisters(td.LayoutOf(td.V7))} }

// Decode reads one task: an operation of the units, or, from an extension, a
// strided one. The other is nil.
func (d *Decoder) Decode(t *td.Task) (*units.Op, *td.Op, error) {
	if t.Extension() {
		op, err := t.Op()
		return nil, op, err
	}
	d.registers.Apply(t)
	d.task, d.op = t, &units.Op{Groups: d.num(td.V7Groups)}
	err := d.decode()
	return d.op, nil, err
}

// value returns a register or header field.
func (d *Decoder) value(f *td.Field) uint32 {
	if f.Block.Header {
		v, _ := d.task.Get(f)
		return v
	}
	return d.registers.Value(f)
}

// num returns a field as a number; byte strides are signed.
func (d *Decoder) num(f *td.Field) int     { return int(int32(d.value(f))) }
func (d *Decoder) flag(f *td.Field) bool   { return d.value(f) != 0 }
func (d *Decoder) half(f *td.Field) uint16 { return uint16(d.value(f)) }

// refuse makes an error about what stands in a field.
func (d *Decoder) refuse(f *td.Field, format string, args ...any) error {
	return &td.FieldError{Field: f, Value: d.value(f), Msg: fmt.Sprintf(format, args...)}
}

func (d *Decoder) isArray() bool { return d.value(td.V7TaskType) == td.TypeArray }

func (d *Decoder) decode() error {
	if err := d.checkForms(); err != nil {
		return err
	}
	d.sizes()
	for _, read := range []func() error{d.source1, d.source2, d.result} {
		if err := read(); err != nil {
			return err
		}
	}
	read := d.planar
	if d.isArray() {
		read = d.array
	}
	if err := read(); err != nil {
		return err
	}
	if part, err := d.op.Check(); err != nil {
		f, _ := d.Field(part)
		return d.refuse(f, "%v", err)
	}
	return d.kernel()
}

func (d *Decoder) sizes() {
	o := d.op
	o.In = units.Size{W: d.num(td.V7Win), H: d.num(td.V7Hin), D: d.num(td.V7Din), C: d.num(td.V7Cin)}
	o.Out = units.Size{W: d.num(td.V7Wout), H: d.num(td.V7Hout), D: d.num(td.V7Dout), C: d.num(td.V7Cout)}
	o.Window = units.Window{
		KW: d.num(td.V7KernelWidth), KH: d.num(td.V7KernelHeight), SX: d.num(td.V7StrideX), SY: d.num(td.V7StrideY),
		PX: d.num(td.V7PadLeft), PY: d.num(td.V7PadTop),
	}
	o.Broadcast1 = d.broadcast(td.V7Broadcast1W, td.V7Broadcast1H, td.V7Broadcast1D, td.V7Broadcast1C)
	o.Broadcast2 = d.broadcast(td.V7Broadcast2W, td.V7Broadcast2H, td.V7Broadcast2D, td.V7Broadcast2C)
	o.Transpose1, o.Transpose2 = d.flag(td.V7Transpose1), d.flag(td.V7Transpose2)
	o.ReLU1, o.ReLU2, o.Lowest = d.flag(td.V7Source1ReLU), d.flag(td.V7Source2ReLU), d.flag(td.V7PadMode)
	o.WideResult, o.WideSource = d.flag(td.V7NEBit12), d.flag(td.V7NEBit14)
}

// broadcast collects the flags of W, H, D and C.
func (d *Decoder) broadcast(axes ...*td.Field) (set uint32) {
	for i, f := range axes {
		if d.flag(f) {
			set |= 1 << i
		}
	}
	return set
}

// planar reads what the planar engine does (h13 4.4).
func (d *Decoder) planar() error {
	o := d.op
	o.Planar, o.Kind = true, d.num(td.V7TaskType)
	o.Exchange = d.flag(td.V7TransposePlanar)
	o.Operator, o.Reduction = d.value(td.V7PEOperator), d.value(td.V7PEReduction)
	o.Condition, o.Final, o.ReLU = d.value(td.V7PECondition), d.value(td.V7PEFinal), d.flag(td.V7PEReLU)
	o.Negate1, o.Negate2 = d.flag(td.V7PENegate1), d.value(td.V7PESource2Sign) == td.Source2Negated
	o.PreScale, o.Scale, o.Bias = d.half(td.V7PEPreScale), d.half(td.V7PEScale), d.half(td.V7PEBias)
	o.Epsilon, o.FinalScale = d.half(td.V7PEEpsilon), td.V7PEFinalScale.Float(d.value(td.V7PEFinalScale))
	return nil
}

// array reads what the multiply array does (h13 4.3).
func (d *Decoder) array() error {
	o := d.op
	o.Exchange = d.flag(td.V7TransposeArray)
	o.Operation, o.Unity, o.Biased = d.value(td.V7NEOperation), d.flag(td.V7NEUnityKernel), d.flag(td.V7NEBias)
	o.NonLinear, o.Post, o.Accumulate = d.value(td.V7NENonLinear), d.half(td.V7NEPostScale), d.half(td.V7NEAccumulatorBias)
	o.LanesLog2, o.Engines, o.Small = d.num(td.V7LanesLog2), 1<<d.value(td.V7EnginesLog2), d.flag(td.V7SmallSource)
	if f := td.KernelFormat(d.value(td.V7NEKernelFormat)); f == td.KernelInt8 {
		o.Format = f
	}
	if d.flag(td.V7Unicast) {
		if o.Unicast = d.num(td.V7UnicastInputs); o.Unicast == 0 {
			return d.refuse(td.V7UnicastInputs, "%d outputs of so many channels, the source has %d", o.Out.C, o.In.C)
		}
	}
	// rsqrt adds its epsilon there (oracles, unary_rsqrt_c64), a convolution a bias
	// that all outputs have (record encoder_conv_c1_n4_k3x3_s2_g1_bias1_same). What
	// it is beside a row of biases is not known.
	bias, scale := td.V7NEAccumulatorBias, td.V7NEPostScale
	biased := bias.Float(d.value(bias)) != 0
	switch {
	case biased && (o.Operation != units.MultiplyAdd || o.Biased):
		return d.refuse(bias, "an accumulator bias is known in sums without a row of biases only")
	case scale.Float(d.value(scale)) != 1 && (biased || o.Biased):
		return d.refuse(scale, "the order of post scale and bias is not known")
	case o.Unity && o.Biased:
		return d.refuse(td.V7NEBias, "a bias row without weights is not known")
	case !o.Unity && o.Operation != units.MultiplyAdd:
		return d.refuse(td.V7NEUnityKernel, "operation %d is known without weights only", o.Operation)
	case !o.Unity && o.Lowest:
		return d.refuse(td.V7PadMode, "padding with minus infinity is known without weights only")
	}
	return nil
}

// kernel reads where the kernel streams lie (h13 3.3).
func (d *Decoder) kernel() error {
	if !d.op.NeedsKernel() {
		return nil
	}
	k, ok, err := td.KernelOf(d.registers)
	switch {
	case err != nil:
		return d.refuse(td.V7KernelEnable, "%v", err)
	case !ok:
		return d.refuse(td.V7KernelEnable, "the task needs kernel streams")
	case d.value(td.V7NEZeroSkip) != d.value(td.V7KernelZeroSkip):
		return d.refuse(td.V7NEZeroSkip, "%s says otherwise", td.V7KernelZeroSkip)
	}
	if err := d.named(td.V7KernelBase[0], td.V7KernelBaseEnable[0]); err != nil {
		return err
	}
	to := &units.Kernel{
		Base: d.num(td.V7KernelBase[0]), ZeroSkip: k.ZeroSkip, Runtime: d.flag(td.V7NERuntimeKernel), Producer: -1,
		Offsets: make([]int, k.Engines), Sizes: make([]int, k.Engines),
	}
	if d.flag(td.V7ExtraWord) {
		to.Producer = d.num(td.V7KernelTask)
	}
	for e := range k.Engines {
		ch := &td.V7KernelChannel[e]
		if !d.flag(ch.Config.Enable) {
			if k.StreamBytes(e) > 0 {
				return d.refuse(ch.Config.Enable, "engine %d has outputs and no kernel stream", e)
			}
			continue
		}
		to.Offsets[e], to.Sizes[e] = int(d.value(ch.Offset)), int(d.value(ch.Size))
		if want := k.StreamBytes(e); !k.ZeroSkip && to.Sizes[e] < want {
			return d.refuse(ch.Size, "the weights of engine %d take %#x bytes", e, want)
		}
	}
	d.op.Kernel = to
	return nil
}

// named refuses an entry of the base-address table that the header does not name.
func (d *Decoder) named(base, enable *td.Field) error {
	if !d.flag(enable) {
		return d.refuse(enable, "the task needs the base address that %s names", base.Name)
	}
	return nil
}

// checkForms holds a task to what is known.
func (d *Decoder) checkForms() error {
	layout := td.LayoutOf(td.V7)
	for _, rec := range d.task.Records {
		for i, word := range rec.Words {
			addr := rec.Addr + 4*uint32(i)
			block := layout.Block(addr)
			if block == nil {
				return fmt.Errorf("register %#x = %#x: no register of this address is known", addr, word)
			}
			if bits := block.Unnamed(addr, word); bits != 0 {
				return fmt.Errorf("register %#x = %#x: the meaning of bits %#x is not known", addr, word, bits)
			}
		}
	}
	if err := d.checkKnown(knownForms); err != nil {
		return err
	}
	if d.isArray() {
		return d.checkKnown(arrayForms)
	}
	return d.checkKnown(planarForms)
}

// checkKnown holds fields to the values whose meaning is known.
func (d *Decoder) checkKnown(forms []known) error {
	for _, k := range forms {
		if (k.when == nil || k.when(d)) && !slices.Contains(k.values, d.value(k.field)) {
			return d.refuse(k.field, "%s", k.why)
		}
	}
	return nil
}
