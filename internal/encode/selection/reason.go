package selection

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Why a layer has no tasks. What may decline returns a *diag.Reason, and nil is yes. A reason says what stands in the way: the
// limit and what was found, a register, or that no recorded program shows how. What only looks for something that need not be
// there (a chain of products, a lone number) declines nothing and has none.

// firstOf is the first reason of several questions that were all asked; nil if none declined.
func firstOf(reasons ...*diag.Reason) *diag.Reason {
	for _, why := range reasons {
		if why != nil {
			return why
		}
	}
	return nil
}

// A layer is often tried in several ways. Where the last takes whatever the others take, in more tasks, its reason is the
// layer's. Else neither has both.

// neither is why a layer has no tasks that was tried in two ways, of which each takes what the other does not. The record is that
// of the last.
func neither(first, last *diag.Reason) *diag.Reason {
	if alike(first, last) {
		return last
	}
	return last.After(first, "; otherwise: ")
}

// alike reports whether two reasons say the same.
func alike(a, b *diag.Reason) bool { return a.ID == b.ID && a.Error() == b.Error() }

// within says which of several layers that go together a reason is about.
func within(l *anec.Layer, why *diag.Reason) *diag.Reason {
	return why.After("its ", l.Kind(), ": ")
}

// about says which value a reason is about.
func about(v *anec.Value, why *diag.Reason) *diag.Reason {
	if v.Name == "" { // it lies between two layers that one stands for
		return why.Of("a temporary")
	}
	return why.Of(v.Name)
}

// halfOnly declines values of another type than fp16.
func halfOnly(values ...*anec.Value) *diag.Reason {
	for _, v := range values {
		if v.Type.DType != tensor.Float16 {
			return about(v, diag.Decline(diag.NativeType, "is of another type than the task has").Measure(tensor.Float16, v.Type.DType))
		}
	}
	return nil
}

// bareOnly declines a layer that does more than its kind says.
func bareOnly(l *anec.Layer) *diag.Reason {
	if !l.Epilogue.Empty() {
		return diag.Decline(diag.NativeEpilogue, "the tasks take no epilogue, and there is %s", slotOf(&l.Epilogue))
	}
	return nil
}

// asIs declines a layer that does more than move elements, or gives them another type (segment.IsBare).
func asIs(l *anec.Layer) *diag.Reason {
	if why := bareOnly(l); why != nil {
		return why
	}
	if x := l.Bottoms[0].Type.DType; l.OutputType != tensor.Invalid && l.OutputType != x {
		return diag.Decline(diag.NativeType, "elements change their type as they are moved").Measure(x, l.OutputType)
	}
	return nil
}

// withoutTranspose declines a transpose of the result.
func withoutTranspose(l *anec.Layer) *diag.Reason {
	if p := l.Epilogue.Transpose; p != nil {
		return diag.Decline(diag.NativeEpilogue, "the result is transposed (%v), which no recorded program of the kind has", *p)
	}
	return nil
}

// slotOf names something that an epilogue does.
func slotOf(e *anec.Epilogue) string {
	switch {
	case e.Texture != nil:
		return "a layer that moves or resamples elements"
	case e.Broadcast != anec.Dims{}:
		return "a broadcast"
	case e.Pre != nil, e.Post != nil:
		return "a function"
	case e.GOC != nil:
		return "a gain or offset"
	case len(e.Steps) > 0:
		return "a step"
	case e.Transpose != nil:
		return "a transpose"
	case e.Quant != nil:
		return "a requantization"
	}
	return "nothing"
}

// noRoom declines what takes more bytes on chip than there are for it.
func noRoom(what string, limit, bytes int) *diag.Reason {
	return diag.Decline(diag.NativeRoom, "%s is too large for the memory on chip, in bytes", what).Measure(limit, bytes)
}

// tooManyTasks declines what takes more tasks than a layer may become.
func tooManyTasks(limit, tasks int) *diag.Reason {
	return diag.Decline(diag.NativeTasks, "it takes too many tasks").Measure(limit, tasks)
}

// sameExtents declines a value whose extents are not those of another.
func sameExtents(x, y *anec.Value) *diag.Reason {
	if x.Type.Dims != y.Type.Dims {
		return about(x, diag.Decline(diag.NativeOperand, "has not the extents of %q", y.Name).Measure(y.Type.Dims, x.Type.Dims))
	}
	return nil
}

// columnsApart declines a matrix of which the rows would have to lie side by side, and the columns do.
func columnsApart(v *anec.Value) *diag.Reason {
	return about(v, diag.Decline(diag.NativeLayout, "lies with its columns along memory, and the task reads rows"))
}

// multiplesOf is a limit: the multiples of a number above 0.
type multiplesOf int

func (m multiplesOf) String() string { return fmt.Sprintf("multiples of %d", int(m)) }

// tooMuchMemory declines what would take more bytes of scratch memory or of constants than a layer may have.
func tooMuchMemory(bytes int) *diag.Reason {
	return diag.Decline(diag.NativeSize, "what is laid out for the tasks takes too much memory, in bytes").Measure(maxExpand, bytes)
}

// compressed declines a constant of which the elements are not known one by one.
func compressed(v *anec.Value) *diag.Reason {
	return about(v, diag.Decline(diag.NativeConstant, "is a constant that is stored compressed"))
}

// A span is what was found where there are several numbers: the least and the greatest.
type span struct{ least, most float32 }

func (s span) String() string { return fmt.Sprintf("%v to %v", s.least, s.most) }

// fp16Least is the least number of fp16 above 0.
const fp16Least = 0x1p-24

// axesOf names axes.
type axesOf td.Axes

func (a axesOf) String() string {
	text := ""
	for axis := range td.Axis(anec.NumAxes) {
		if td.Axes(a).Has(axis) {
			text += axis.String()
		}
	}
	return text
}

// notPerChannel declines a constant that has not one number for each channel.
func notPerChannel(v *anec.Value, want anec.Dims) *diag.Reason {
	return about(v, diag.Decline(diag.NativeConstant, "has not one number for each channel").Measure(want, v.Type.Dims))
}

// otherType declines a type of which no task reads or writes values. The caller names the value.
func otherType(t anec.Type) *diag.Reason {
	return diag.Decline(diag.NativeType, "is of a type that tasks do not read or write").Measure("fp16 or bool", t.DType)
}

// inState declines a value in a state. The caller names it.
func inState() *diag.Reason {
	return diag.Decline(diag.NativeState, "lies in a state, and no recorded program has a task that reads or writes one")
}
