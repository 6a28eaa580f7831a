package task

import (
	"fmt"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// A Task is a task of a container. docs/json.md explains the fields.
type Task struct {
	Index   int    `json:"index"`
	Version int    `json:"version"`
	Offset  int    `json:"offset"`
	Address string `json:"address"`
	Length  int    `json:"length"`
	What    string `json:"what"`

	HeaderWords []string      `json:"header_words"`
	Records     []Record      `json:"records"`
	Words       Words         `json:"words"`
	Fields      Fields        `json:"fields"`
	Unknown     report.Object `json:"unknown,omitempty"`

	Weights *Weights `json:"weights,omitempty"`
	Table   *Table   `json:"table,omitempty"`
}

// A Record is a run of registers that a task writes.
type Record struct {
	Address string `json:"address"`
	Count   int    `json:"count"`
}

// Explain describes the tasks of a container with one procedure.
func Explain(f *hwx.File) ([]Task, error) {
	if _, err := f.TaskVersion(); err != nil {
		return nil, err
	}
	p, err := f.Procedure("")
	if err != nil {
		return nil, err
	}
	return ExplainProcedure(p)
}

// ExplainProcedure describes the tasks of a procedure.
func ExplainProcedure(p *hwx.Procedure) ([]Task, error) {
	e, err := newExplainer(p)
	if err != nil {
		return nil, err
	}
	list := make([]Task, len(e.tasks))
	for i, t := range e.tasks {
		list[i] = e.task(i, t)
	}
	return list, nil
}

// An explainer describes the tasks of a procedure one after the other: registers outlive a task.
type explainer struct {
	file      *hwx.File
	text      *hwx.Section
	constant  *hwx.Section // behind the text
	tasks     []td.Placed
	registers *td.Registers
	bases     map[int]hwx.Base

	counter            Counter
	container, weights string // of a bundle: the paths of the container and of its weights
}

func newExplainer(p *hwx.Procedure) (*explainer, error) {
	version, err := p.File().TaskVersion()
	if err != nil {
		return nil, err
	}
	tasks, err := p.Tasks()
	if err != nil {
		return nil, err
	}
	e := &explainer{
		file: p.File(), text: p.Text, constant: p.Constants(),
		tasks: tasks, registers: td.NewRegisters(td.LayoutOf(version)), bases: map[int]hwx.Base{},
	}
	for _, b := range p.Bases() {
		e.bases[b.Index] = b
	}
	return e, nil
}

func (e *explainer) task(index int, t td.Placed) Task {
	r := Task{
		Index: index, Version: int(t.Version), Length: len(t.Header), Words: Words{t.Task}, Fields: Fields{t.Task},
		Offset: int(e.text.Offset) + t.Offset, Address: report.Address(e.text.Addr + uint64(t.Offset)),
	}
	for _, w := range t.Header {
		r.HeaderWords = append(r.HeaderWords, report.Word(w))
	}
	for _, rec := range t.Records {
		r.Records = append(r.Records, Record{report.Register(rec.Addr), len(rec.Words)})
		r.Length += 1 + len(rec.Words)
	}
	r.Unknown = unknownBits(t.Task)
	switch {
	case t.Version == td.V256 || t.Extension():
		r.What = e.describeOperation(t.Task)
	case t.Version == td.V7:
		e.registers.Apply(t.Task)
		r.Weights, r.Table = e.kernel(t.Task)
		r.What = e.describeV7(t.Task, r.Table)
	}
	return r
}

// baseName is what an entry of the base-address table is called.
func (e *explainer) baseName(i int) string {
	b, ok := e.bases[i]
	switch {
	case !ok:
		return fmt.Sprintf("base %d", i)
	case b.Kind == hwx.KindPort:
		return b.Name
	case b.Kind == hwx.KindConst && e.constant != nil && b.Section != e.constant:
		return "weights"
	case b.Kind == hwx.KindConst:
		return "constants"
	case b.Kind == hwx.KindOther:
		return fmt.Sprintf("address %#x", b.Addr)
	}
	return string(b.Kind)
}

// constants is the memory that an entry of the base-address table points at, if the file holds its content.
func (e *explainer) constants(base int) ([]byte, bool) {
	b, ok := e.bases[base]
	if !ok {
		return nil, false
	}
	s, offset := e.file.Lookup(b.Addr)
	if s == nil || s.Data == nil {
		return nil, false
	}
	return s.Data[offset:], true
}
