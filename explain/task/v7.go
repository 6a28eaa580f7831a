package task

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/td"
)

// v7Sentence says what a task of version 7 computes.
type v7Sentence struct {
	*explainer
	task *td.Task
}

// describeV7 says what a task of version 7 computes, from where to where.
func (e *explainer) describeV7(t *td.Task, table *Table) string {
	s := v7Sentence{e, t}
	var what string
	var then []string
	sources := []string{s.source1()}
	switch typ := s.num(td.V7TaskType); typ {
	case td.TypeArray:
		what, then = s.array(table)
	case td.TypePlanarUnary:
		what, then = s.planar()
	case td.TypePlanarBinary, td.TypePlanarGain:
		what, then = s.planar()
		sources = append(sources, s.source2())
	case td.TypePlanarReduce, td.TypePlanarReduce2:
		what, then = s.reduction()
		if typ == td.TypePlanarReduce2 {
			sources = append(sources, s.source2())
		}
	default:
		return fmt.Sprintf("a task of unknown type %d", typ)
	}
	if s.num(td.V7TransposeArray) != 0 || s.num(td.V7TransposePlanar) != 0 {
		then = append(then, exchanged)
	}
	then = append(then, fmt.Sprintf("from %s to %s", strings.Join(sources, " and "), s.result()))
	return strings.Join(append([]string{what}, then...), ", ")
}

// num is a field of the header or of the registers.
func (s v7Sentence) num(f *td.Field) int {
	if f.Block.Header {
		v, _ := s.task.Get(f)
		return int(v)
	}
	return int(int32(s.registers.Value(f)))
}

func (s v7Sentence) float(f *td.Field) string { return report.Short(float64(s.registers.Float(f))) }

const (
	onChip    = "on-chip memory"
	exchanged = "channels and columns exchanged"
)

// v7Source has the fields that say how a source is read.
type v7Source struct {
	format, relu, transpose *td.Field
	broadcast               [4]*td.Field // C, D, H, W
}

var (
	v7Source1 = v7Source{td.V7Fmt1, td.V7Source1ReLU, td.V7Transpose1,
		[4]*td.Field{td.V7Broadcast1C, td.V7Broadcast1D, td.V7Broadcast1H, td.V7Broadcast1W}}
	v7Source2 = v7Source{td.V7Fmt2, td.V7Source2ReLU, td.V7Transpose2,
		[4]*td.Field{td.V7Broadcast2C, td.V7Broadcast2D, td.V7Broadcast2H, td.V7Broadcast2W}}
)

// read is a place and what happens to what is read there.
func (s v7Sentence) read(place string, fields v7Source) string {
	var notes []string
	if axes := s.broadcast(fields); axes != "" {
		notes = append(notes, "broadcast over "+axes)
	}
	if s.num(fields.transpose) != 0 {
		notes = append(notes, exchanged)
	}
	if s.num(fields.relu) != 0 {
		notes = append(notes, "ReLU")
	}
	return place + s.notes(fields.format, notes)
}

func (s v7Sentence) broadcast(fields v7Source) (axes string) {
	for i, f := range fields.broadcast {
		if s.num(f) != 0 {
			axes += "CDHW"[i : i+1]
		}
	}
	return axes
}

// notes are put in brackets, after the element type if it is not the usual one.
func (s v7Sentence) notes(format *td.Field, notes []string) string {
	if n := s.num(format); n != td.FormatFP16 {
		name := format.ValueName(uint32(n))
		notes = append([]string{name}, notes...)
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, ", ") + ")"
}

func (s v7Sentence) source1() string {
	if s.num(td.V7SourceConfig.Type) == td.PlaceOnChip {
		return s.read(report.At(onChip, s.num(td.V7L2Src1.Base)), v7Source1)
	}
	place := report.At(s.baseName(s.num(td.V7Read0Base)), s.num(td.V7Src1.Base))
	if s.num(td.V7SourceConfig.Type) == td.PlaceKept {
		place += ", kept on chip"
	}
	return s.read(place, v7Source1)
}

func (s v7Sentence) source2() string {
	if s.num(td.V7Read1Enable) == 0 {
		return s.read(report.At(onChip, s.num(td.V7L2Src2.Base)), v7Source2)
	}
	return s.read(report.At(s.baseName(s.num(td.V7Read1Base)), s.num(td.V7Src2.Base)), v7Source2)
}

func (s v7Sentence) result() string {
	place := report.At(s.baseName(s.num(td.V7WriteBase)), s.num(td.V7Dst.Base))
	if s.num(td.V7ResultConfig.Type) == td.PlaceOnChip {
		place = report.At(onChip, s.num(td.V7L2Result.Base))
	}
	return place + s.notes(td.V7FmtO, nil)
}

// size is the extent of source 1: "of 3 channels on 1×1".
func (s v7Sentence) size() string {
	text := fmt.Sprintf("of %s on %s", report.Count(s.num(td.V7Cin), "channel"), s.image(td.V7Hin, td.V7Win))
	if n := s.num(td.V7Groups); n > 1 {
		text += fmt.Sprintf(", %d times", n)
	}
	return text
}

func (s v7Sentence) image(height, width *td.Field) string {
	return fmt.Sprintf("%d×%d", s.num(height), s.num(width))
}

// array describes a task of the multiply array.
func (s v7Sentence) array(table *Table) (what string, then []string) {
	nonLinear := ""
	if f := s.num(td.V7NENonLinear); f != td.NonLinearNone {
		nonLinear = td.V7NENonLinear.ValueName(uint32(f))
		if f == td.NonLinearTable && table != nil && table.Function != "" {
			nonLinear = table.Function
		}
	}
	op, unity := s.num(td.V7NEOperation), s.num(td.V7NEUnityKernel) != 0
	unicast, inputs := s.num(td.V7Unicast) != 0, s.num(td.V7UnicastInputs)
	switch {
	case op == td.OperationBypass, op == td.OperationMultiplyAdd && unity && unicast && inputs == 1:
		if what = "copy"; nonLinear != "" && !s.scaled() {
			what, nonLinear = nonLinear, ""
		}
		what += " " + s.size()
	case op == td.OperationMultiplyAdd && !unity:
		what, then = s.convolution(unicast, inputs)
	case op == td.OperationMultiplyAdd || op == td.OperationMaximum:
		if what = "sum"; op == td.OperationMaximum {
			what = td.V7NEOperation.ValueName(uint32(op))
		}
		if unicast {
			what += fmt.Sprintf(" of every %s, %s", report.Count(inputs, "channel"), s.size())
		} else {
			what += " over the channels, " + s.size()
		}
	default:
		what = fmt.Sprintf("unknown operation %d of the array, %s", op, s.size())
	}
	if s.num(td.V7NEBias) != 0 {
		then = append(then, "bias")
	}
	if s.registers.Float(td.V7NEAccumulatorBias) != 0 {
		then = append(then, "plus "+s.float(td.V7NEAccumulatorBias))
	}
	if s.registers.Float(td.V7NEPostScale) != 1 {
		then = append(then, "times "+s.float(td.V7NEPostScale))
	}
	if nonLinear != "" {
		then = append(then, nonLinear)
	}
	return what, then
}

// scaled reports whether the array changes a sum before a function is applied to it.
func (s v7Sentence) scaled() bool {
	return s.num(td.V7NEBias) != 0 || s.registers.Float(td.V7NEAccumulatorBias) != 0 || s.registers.Float(td.V7NEPostScale) != 1
}

func (s v7Sentence) convolution(unicast bool, inputs int) (what string, then []string) {
	kind := "convolution"
	cin, cout, groups := s.num(td.V7Cin), s.num(td.V7Cout), s.num(td.V7Groups)
	if unicast {
		if kind = "depthwise convolution"; inputs != 1 {
			kind = fmt.Sprintf("convolution of every %s", report.Count(inputs, "channel"))
		}
	}
	what = fmt.Sprintf("%s %s %d→%d channels on %s", s.image(td.V7KernelHeight, td.V7KernelWidth), kind, groups*cin, groups*cout, s.image(td.V7Hin, td.V7Win))
	if out := s.image(td.V7Hout, td.V7Wout); out != s.image(td.V7Hin, td.V7Win) {
		what += " to " + out
	}
	pair := func(y, x *td.Field) string {
		if s.num(y) == s.num(x) {
			return fmt.Sprint(s.num(y))
		}
		return s.image(y, x)
	}
	if text := pair(td.V7StrideY, td.V7StrideX); text != "1" {
		then = append(then, "stride "+text)
	}
	if text := pair(td.V7PadTop, td.V7PadLeft); text != "0" {
		then = append(then, "padding "+text)
	}
	if groups > 1 {
		then = append(then, fmt.Sprintf("%d groups or images", groups))
	}
	if s.num(td.V7NERuntimeKernel) != 0 {
		then = append(then, "weights made at run time in "+s.baseName(s.num(td.V7KernelBase[0])))
	}
	return what, then
}

// planar describes a task of the planar engine that keeps the size.
func (s v7Sentence) planar() (what string, then []string) {
	what, op := "", s.num(td.V7PEOperator)
	negated := s.num(td.V7PESource2Sign) == td.Source2Negated
	switch s.num(td.V7TaskType) {
	case td.TypePlanarGain:
		what = "plus the offset, times the gain of each channel,"
	case td.TypePlanarUnary:
		switch {
		case op == td.OperatorSquare:
			what = "square"
		case s.num(td.V7PECondition) == td.ConditionAbsolute:
			what = "absolute value"
		default:
			what = "copy"
		}
	default:
		what = binaryName(op, negated)
	}
	what += " " + s.size()
	if s.num(td.V7PENegate1) != 0 {
		then = append(then, "the first source negated")
	}
	then = append(then, s.scaling()...)
	if s.num(td.V7PEReLU) != 0 {
		then = append(then, "ReLU")
	}
	return what, then
}

// binaryName is what an operator of the planar engine makes of two sources.
func binaryName(op int, negated bool) string {
	switch {
	case op == td.OperatorAdd && negated:
		return "difference"
	case op == td.OperatorSquare && negated:
		return "square of the difference"
	case op == td.OperatorAdd:
		return "sum"
	case op == td.OperatorMultiply:
		return "product"
	}
	if name := td.V7PEOperator.ValueName(uint32(op)); name != "" {
		return name
	}
	return fmt.Sprintf("unknown operator %d", op)
}

func (s v7Sentence) scaling() (then []string) {
	if s.registers.Float(td.V7PEScale) != 1 {
		then = append(then, "times "+s.float(td.V7PEScale))
	}
	if s.registers.Float(td.V7PEBias) != 0 {
		then = append(then, "plus "+s.float(td.V7PEBias))
	}
	return then
}

// reduction describes a task that makes one number of the plane of each channel.
func (s v7Sentence) reduction() (what string, then []string) {
	kind := td.V7PEReduction.ValueName(uint32(s.num(td.V7PEReduction)))
	if kind == "" {
		kind = fmt.Sprintf("unknown reduction %d", s.num(td.V7PEReduction))
	}
	what = kind + " over the plane of each channel"
	if s.num(td.V7TaskType) == td.TypePlanarReduce2 {
		what += " of the " + binaryName(s.num(td.V7PEOperator), s.num(td.V7PESource2Sign) == td.Source2Negated)
	} else if s.num(td.V7PEOperator) == td.OperatorSquare {
		what += " of the squares"
	}
	what += ", " + s.size()
	if s.num(td.V7PENegate1) != 0 {
		then = append(then, "the first source negated")
	}
	then = append(then, s.scaling()...)
	if s.registers.Float(td.V7PEFinalScale) != 1 {
		then = append(then, "then times "+s.float(td.V7PEFinalScale))
	}
	if s.registers.Float(td.V7PEEpsilon) != 0 {
		then = append(then, "plus "+s.float(td.V7PEEpsilon))
	}
	if final := s.num(td.V7PEFinal); final != td.FinalNone {
		name := td.V7PEFinal.ValueName(uint32(final))
		if name == "" {
			name = fmt.Sprintf("unknown function %d", final)
		}
		then = append(then, name)
	}
	return what, then
}
