package anec

import (
	"cmp"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/td"
)

// An Absent is a unit class or a layer of Apple's compiler that is no kind here, and why.
type Absent struct {
	Name  string
	Class td.Class // 0: it has none
	Why   string
}

var absents = []Absent{
	{"", td.ClassConstMatrixMatrixMult, "a MatrixMultiplication or Linear with a constant"},
	{"", td.ClassPhi, "control flow: no source has its keys, and graphs here have one road"},
	{"", td.ClassCondition, "control flow: no source has its keys, and graphs here have one road"},
	{"", td.ClassFunctionCall, "control flow: no source has its keys, and graphs here have one road"},
	{"", td.ClassWaitForEvent, "an event between procedures, not a layer"},
	{"", td.ClassSignalEvent, "an event between procedures, not a layer"},
	{"", td.ClassNEConv, "the engine's form of a Conv: placement, not a kind"},
	{"", td.ClassNEMatMul, "the engine's form of a MatrixMultiplication: placement, not a kind"},
	{"", td.ClassNEPool, "the engine's form of a Pooling: placement, not a kind"},
	{"", td.ClassPEPool, "the planar engine's form of a Pooling: placement, not a kind"},
	{"", td.ClassPEElementWise, "the planar engine's form of an ElementWise: placement, not a kind"},
	{"", td.ClassPEGOC, "the planar engine's form of a GOC: placement, not a kind"},
	{"", td.ClassAllSlice, "between the engines of a bonded network"},
	{"", td.ClassAllGather, "between the engines of a bonded network"},
	{"", td.ClassAllReduce, "between the engines of a bonded network"},

	{Name: "LiveState", Why: "the buffer that a state is: a state of the graph, not a layer (guide C, micro-operation LIVE_STATE)"},
	{Name: "TensorBufferToTensor", Why: "a buffer read as a tensor: a state of the graph (guide A: inside a stateful graph alone)"},
	{Name: "TensorToTensorBuffer", Why: "a tensor left in a buffer: a state of the graph (guide A: internal to the compiler)"},
	{Name: "RCAS", Why: "validated inside and exported nowhere, so that no network description reaches it (guide 22, B), and no source has its keys. " +
		"Guide 22 takes it for contrast-adaptive sharpening; that its task has a mask of up to eight keys (ANECompiler of iOS 26.1, SetRcasKeyMask) " +
		"and that top-k fails with its name say that it is a step of sorting"},
	{Name: "Reverse", Why: "no exported validator and no unit (guide 22, B); a model's reverse becomes an InputView with a negative step, which can be authored here"},
}

// Absents are all that are known, classes first.
func Absents() []Absent {
	list := slices.Clone(absents)
	for i := range list {
		list[i].Name = cmp.Or(list[i].Name, list[i].Class.String())
	}
	slices.SortStableFunc(list, func(a, b Absent) int {
		if (a.Class == 0) != (b.Class == 0) {
			return cmp.Compare(b.Class, a.Class)
		}
		return cmp.Compare(a.Class, b.Class)
	})
	return list
}

// FindAbsent finds what a unit's type tag names, in capitals or not.
func FindAbsent(name string) (Absent, bool) {
	for _, a := range Absents() {
		if strings.EqualFold(a.Name, name) {
			return a, true
		}
	}
	return Absent{}, false
}
