package task

import (
	"fmt"
	"strconv"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/td"
)

// layoutOf is the table in which a register of the task stands: an extension has registers of two versions.
func layoutOf(t *td.Task, addr uint32) *td.Layout {
	if addr >= td.ExtensionBase {
		return td.LayoutOf(td.V256)
	}
	return td.LayoutOf(t.Version)
}

// eachWord calls f for the registers that a task writes, in its order.
func eachWord(t *td.Task, f func(addr, word uint32)) {
	for _, rec := range t.Records {
		for i, w := range rec.Words {
			f(rec.Addr+4*uint32(i), w)
		}
	}
}

// eachField calls f for the named fields that a task has, those of the header first.
func eachField(t *td.Task, f func(field *td.Field, value uint32)) {
	for _, field := range td.LayoutOf(t.Version).Blocks[0].Fields {
		if v, ok := t.Get(field); ok {
			f(field, v)
		}
	}
	eachWord(t, func(addr, word uint32) {
		for _, field := range layoutOf(t, addr).FieldsAt(addr) {
			f(field, field.Of(word))
		}
	})
}

// Words are the words of a task by register, in the order of the task. They and the fields become an object when they are
// asked for: a program may have thousands of tasks.
type Words struct{ task *td.Task }

// Object has the words by the addresses of their registers.
func (w Words) Object() (o report.Object) {
	eachWord(w.task, func(addr, word uint32) { o.Add(report.Register(addr), report.Word(word)) })
	return o.Last()
}

func (w Words) MarshalJSON() ([]byte, error) { return w.Object().MarshalJSON() }

// Fields are the named fields of a task.
type Fields struct{ task *td.Task }

// Object has the numbers in the fields by their names.
func (f Fields) Object() (o report.Object) {
	eachField(f.task, func(f *td.Field, v uint32) { o.Add(f.Name, fieldNumber(f, v)) })
	return o.Last()
}

func (f Fields) MarshalJSON() ([]byte, error) { return f.Object().MarshalJSON() }

// unknownBits are the bits of a task that are set and have no name.
func unknownBits(t *td.Task) (unknown report.Object) {
	header := td.LayoutOf(t.Version).Blocks[0]
	for i, w := range t.Header {
		if bits := header.Unnamed(4*uint32(i), w); bits != 0 {
			unknown.Add(fmt.Sprintf("header word %d", i), report.Word(bits))
		}
	}
	eachWord(t, func(addr, word uint32) {
		if b := layoutOf(t, addr).Block(addr); b != nil {
			word = b.Unnamed(addr, word)
		}
		if word != 0 {
			unknown.Add(report.Register(addr), report.Word(word))
		}
	})
	return unknown.Last()
}

// fieldNumber is the value of a field as JSON has it.
func fieldNumber(f *td.Field, v uint32) any {
	switch f.Kind {
	case td.FP16, td.FP32:
		return report.Number(f.Float(v))
	case td.Int, td.SBytes:
		return int32(v)
	}
	return v
}

// fieldText is the value of a field for people.
func fieldText(f *td.Field, v uint32) string {
	if name := f.ValueName(v); name != "" {
		return name
	}
	switch f.Kind {
	case td.FP16, td.FP32:
		return report.Short(float64(f.Float(v)))
	case td.Int:
		return strconv.Itoa(int(int32(v)))
	case td.Bytes, td.SBytes:
		return fmt.Sprintf("%#x", int32(v))
	}
	if f.Confidence != td.Ours && (v >= 0x10000 || f.Width == 32) { // of Apple's, those are addresses
		return fmt.Sprintf("%#x", v)
	}
	return strconv.Itoa(int(v))
}
