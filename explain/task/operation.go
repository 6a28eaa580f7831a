package task

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// describeOperation says what a task of version 256, or an extension, computes, from where to where.
func (e *explainer) describeOperation(t *td.Task) string {
	op, err := t.Op()
	if err != nil {
		return "not understood: " + err.Error()
	}
	parts := []string{operationName(op)}
	for _, m := range op.Epilogue {
		parts = append(parts, "then "+stepName(m))
	}
	var sources, results []string
	written, _ := t.Get(td.V256Results)
	for i := range op.Operands {
		o := &op.Operands[i]
		if !o.Present() {
			continue
		}
		text := fmt.Sprintf("%s %s%v", report.At(e.baseName(int(o.Base)), int(o.Offset)), o.Type, tensor.ShapeOf(o.Dims[:]...))
		if o.Interleave > 1 {
			text += fmt.Sprintf(" interleave %d", o.Interleave)
		}
		if i < int(written) {
			results = append(results, text)
		} else {
			sources = append(sources, text)
		}
	}
	e.countConstants(op)
	from := strings.Join(sources, " and ")
	if from == "" {
		from = "nothing"
	}
	return strings.Join(parts, ", ") + ", from " + from + " to " + strings.Join(results, " and ")
}

// countConstants counts the weights that a task reads. Of compressed ones those count that they decode to, not their tables and
// scales.
func (e *explainer) countConstants(op *td.Op) {
	for i := op.Results(); i < len(op.Operands); i++ {
		o := &op.Operands[i]
		if !o.Present() || e.bases[int(o.Base)].Kind != hwx.KindConst {
			continue
		}
		dims := o.Dims
		if op.Class() == td.ClassDeQuant {
			dims = op.Operands[0].Dims
		}
		n, _ := tensor.Count(dims[:])
		e.count(int(o.Base), o.Offset, n)
		if op.Class() == td.ClassDeQuant {
			return
		}
	}
}

// operationName is the class with its fields: in words for those that most programs have.
func operationName(op *td.Op) string {
	switch p := op.Params.(type) {
	case *td.Convolution:
		text := windowText(&p.Window) + " convolution" + windowDetails(&p.Window)
		if p.Transposed {
			text = windowText(&p.Window) + " transposed convolution" + windowDetails(&p.Window)
		}
		if p.Groups > 1 {
			text += fmt.Sprintf(", %d groups", p.Groups)
		}
		return text
	case *td.Pooling:
		text := fmt.Sprintf("%s %v pooling%s", windowText(&p.Window), p.Kind, windowDetails(&p.Window))
		if p.CountPad {
			text += ", padding counts"
		}
		return text
	case *td.ElementWise:
		if p.Kind == td.EWNone {
			return "elementwise"
		}
		return fmt.Sprintf("elementwise %v", p.Kind)
	case *td.MatMul:
		text := "matrix product"
		if p.TransposeX {
			text += ", the first transposed"
		}
		if p.TransposeZ {
			text += ", the second transposed"
		}
		return text
	case *td.Reduction:
		return fmt.Sprintf("%v over %s", p.Kind, axesText(p.Axes))
	case *td.Softmax:
		return fmt.Sprintf("softmax over %v", p.Axis)
	case *td.LayerNorm:
		return fmt.Sprintf("layer normalization over %s, epsilon %s", axesText(p.Axes), report.Short(float64(p.Epsilon)))
	case *td.Gather:
		return fmt.Sprintf("gather along %v", p.Axis)
	case *td.Copy:
		return "copy"
	case *td.Attention:
		return fmt.Sprintf("attention, scale %s", report.Short(float64(p.Scale)))
	}
	return strings.Join(append([]string{op.Class().String()}, classFields(op.Params)...), ", ")
}

func axesText(axes td.Axes) string {
	var names []string
	for a := range td.Axis(td.NumAxes) {
		if axes.Has(a) {
			names = append(names, a.String())
		}
	}
	return strings.Join(names, "")
}

// extents writes lengths along depth, height and width, without a depth of 1.
func extents(v [3]int, plain int) string {
	if v[0] == plain {
		return fmt.Sprintf("%d×%d", v[1], v[2])
	}
	return fmt.Sprintf("%d×%d×%d", v[0], v[1], v[2])
}

func windowText(w *td.Window) string { return extents(w.Kernel, 1) }

func windowDetails(w *td.Window) string {
	var b strings.Builder
	for _, part := range []struct {
		name  string
		value [3]int
		plain int
	}{{"stride", w.Stride, 1}, {"dilation", w.Dilation, 1}, {"padding before", w.PadBefore, 0}, {"padding after", w.PadAfter, 0}} {
		if part.value != [3]int{part.plain, part.plain, part.plain} {
			fmt.Fprintf(&b, ", %s %s", part.name, extents(part.value, part.plain))
		}
	}
	return b.String()
}

// stepName is a step of the epilogue.
func stepName(m td.MicroOp) string {
	switch m.Code {
	case td.MicroScaleBias:
		return fmt.Sprintf("times %s plus %s", report.Short(float64(m.A)), report.Short(float64(m.B)))
	case td.MicroActivation:
		text := td.Function(m.Function).String()
		if m.A != 0 || m.B != 0 {
			text += fmt.Sprintf("(%s, %s)", report.Short(float64(m.A)), report.Short(float64(m.B)))
		}
		return text
	case td.MicroEW:
		second := m.Source.String()
		if m.Source == td.NoSource {
			second = report.Short(float64(m.A))
		}
		if m.Swap {
			return fmt.Sprintf("%v of %s and it", td.EWKind(m.Function), second)
		}
		return fmt.Sprintf("%v with %s", td.EWKind(m.Function), second)
	case td.MicroTypeCast:
		if d, ok := td.ElementType(m.Function); ok {
			return "cast to " + d.String()
		}
	}
	return m.Code.String()
}
