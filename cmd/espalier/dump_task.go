package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// taskReport is a task in the JSON of a container.
type taskReport struct {
	Index   int    `json:"index"`
	Version int    `json:"version"`
	Offset  int    `json:"offset"`
	Address string `json:"address"`
	Length  int    `json:"length"`
	What    string `json:"what"`

	HeaderWords []string       `json:"header_words"`
	Records     []recordReport `json:"records"`
	Words       taskWords      `json:"words"`
	Fields      taskFields     `json:"fields"`
	Unknown     orderedObject  `json:"unknown,omitempty"`

	Weights *weightsDump `json:"weights,omitempty"`
	Table   *tableDump   `json:"table,omitempty"`
}

// taskWords are the words of a task by register, in the order of the task. They and the fields become an
// object when they are printed: a program may have thousands of tasks.
type taskWords struct{ task *td.Task }

// taskFields are the named fields of a task.
type taskFields struct{ task *td.Task }

type recordReport struct {
	Address string `json:"address"`
	Count   int    `json:"count"`
}

type weightsDump struct {
	Type     string        `json:"type,omitempty"`
	Shape    []int         `json:"shape,omitempty"`
	Groups   int           `json:"groups,omitempty"`
	Lanes    int           `json:"lanes,omitempty"`
	Engines  int           `json:"engines,omitempty"`
	ZeroSkip bool          `json:"zero_skip,omitempty"`
	Source   string        `json:"source,omitempty"`
	RunTime  bool          `json:"run_time,omitempty"`
	Streams  []streamBytes `json:"streams,omitempty"`
	Values   []number      `json:"values,omitempty"`
	Count    int           `json:"count"`
	Biases   []number      `json:"biases,omitempty"`
	Bias     int           `json:"bias_count,omitempty"`
	Note     string        `json:"note,omitempty"`
}

type streamBytes struct {
	Engine int   `json:"engine"`
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
}

// shownWeights is how many weights of a task are shown.
const shownWeights = 8

// A taskExplainer describes the tasks of a container one after the other: registers outlive a task.
type taskExplainer struct {
	file      *hwx.File
	text      *hwx.Section
	registers *td.Registers
	bases     map[int]hwx.Base

	parameters int // weights so far, each counted once
	seen       map[weightPlace]bool

	container, weights string // of a bundle: the paths of the container and of its weights
}

// weightPlace is where an array of weights is: in the container or in the bundle's file of weights.
type weightPlace struct {
	file string
	at   uint64
}

func newTaskExplainer(f *hwx.File, v td.Version) *taskExplainer {
	e := &taskExplainer{file: f, text: f.Text(), bases: map[int]hwx.Base{}, seen: map[weightPlace]bool{}}
	e.registers = td.NewRegisters(td.LayoutOf(v))
	for _, b := range f.Bases() {
		e.bases[b.Index] = b
	}
	return e
}

func (e *taskExplainer) task(index int, t td.Placed) taskReport {
	r := taskReport{
		Index: index, Version: int(t.Version), Length: len(t.Header), Words: taskWords{t.Task}, Fields: taskFields{t.Task},
		Offset: int(e.text.Offset) + t.Offset, Address: hexAddress(e.text.Addr + uint64(t.Offset)),
	}
	for _, w := range t.Header {
		r.HeaderWords = append(r.HeaderWords, hexWord(w))
	}
	for _, rec := range t.Records {
		r.Records = append(r.Records, recordReport{hexRegister(rec.Addr), len(rec.Words)})
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

func hexWord(w uint32) string     { return fmt.Sprintf("0x%08x", w) }
func hexRegister(a uint32) string { return fmt.Sprintf("0x%05x", a) }

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

func (w taskWords) MarshalJSON() ([]byte, error) {
	var o orderedObject
	eachWord(w.task, func(addr, word uint32) { o = append(o, member{hexRegister(addr), hexWord(word)}) })
	return o.last().MarshalJSON()
}

func (w taskFields) MarshalJSON() ([]byte, error) {
	var o orderedObject
	eachField(w.task, func(f *td.Field, v uint32) { o = append(o, member{f.Name, fieldNumber(f, v)}) })
	return o.last().MarshalJSON()
}

// last keeps the last value of a name that is there twice, at its first place: a task may write a register twice.
func (o orderedObject) last() orderedObject {
	place := map[string]int{}
	kept := o[:0]
	for _, m := range o {
		if at, twice := place[m.name]; twice {
			kept[at] = m
			continue
		}
		place[m.name] = len(kept)
		kept = append(kept, m)
	}
	return kept
}

// unknownBits are the bits of a task that are set and have no name.
func unknownBits(t *td.Task) (unknown orderedObject) {
	header := td.LayoutOf(t.Version).Blocks[0]
	for i, w := range t.Header {
		if bits := header.Unnamed(4*uint32(i), w); bits != 0 {
			unknown = append(unknown, member{fmt.Sprintf("header word %d", i), hexWord(bits)})
		}
	}
	eachWord(t, func(addr, word uint32) {
		if b := layoutOf(t, addr).Block(addr); b != nil {
			word = b.Unnamed(addr, word)
		}
		if word != 0 {
			unknown = append(unknown, member{hexRegister(addr), hexWord(word)})
		}
	})
	return unknown.last()
}

// fieldNumber is the value of a field as JSON has it.
func fieldNumber(f *td.Field, v uint32) any {
	switch f.Kind {
	case td.FP16, td.FP32:
		return number(f.Float(v))
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
		return shortNumber(float64(f.Float(v)))
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

// baseName is what an entry of the base-address table is called.
func (e *taskExplainer) baseName(i int) string {
	b, ok := e.bases[i]
	switch {
	case !ok:
		return fmt.Sprintf("base %d", i)
	case b.Kind == hwx.KindPort:
		return b.Name
	case b.Kind == hwx.KindConst && e.file.Constants() != nil && b.Section != e.file.Constants():
		return "weights"
	case b.Kind == hwx.KindConst:
		return "constants"
	case b.Kind == hwx.KindOther:
		return fmt.Sprintf("address %#x", b.Addr)
	}
	return string(b.Kind)
}

// kernel describes the kernel streams of a version-7 task, nil if it loads none.
func (e *taskExplainer) kernel(t *td.Task) (*weightsDump, *tableDump) {
	k, ok, err := td.KernelOf(e.registers)
	if !ok {
		return nil, nil
	}
	base, _ := t.Get(td.V7KernelBase[0])
	w := &weightsDump{Source: e.baseName(int(base))}
	if err != nil {
		w.Note = err.Error()
		return w, nil
	}
	w.Type, w.Lanes, w.Engines, w.ZeroSkip = "fp16", k.Lanes, k.Engines, k.ZeroSkip
	if k.Format == td.KernelInt8 {
		w.Type = "int8"
	}
	if w.Count = k.Values(); w.Count > 0 {
		w.Groups, w.Shape = k.Groups, []int{k.Groups * k.Outputs, k.Inputs, k.Height, k.Width}
	}
	if k.Bias {
		w.Bias = k.Groups * k.Outputs
	}
	for i := range k.Engines {
		c := &td.V7KernelChannel[i]
		if e.registers.Value(c.Config.Enable) != 0 {
			w.Streams = append(w.Streams, streamBytes{i, int64(e.registers.Value(c.Offset)), int64(e.registers.Value(c.Size))})
		}
	}
	data, found := e.constants(int(base))
	if !found {
		w.RunTime = true
		return w, nil
	}
	streams, err := td.KernelStreams(e.registers, data)
	var table *tableDump
	if err == nil && k.Table && len(streams[0]) >= td.TableBytes {
		if table, err = newTableDump(streams[0]); err != nil {
			w.Note = err.Error()
			return w, nil
		}
	}
	var values *td.Weights
	if err == nil {
		values, err = k.Unpack(streams)
	}
	if err != nil {
		w.Note = err.Error()
		return w, table
	}
	for _, v := range values.Values[:min(len(values.Values), shownWeights)] {
		w.Values = append(w.Values, number(k.Format.Float(v)))
	}
	for _, v := range values.Bias[:min(len(values.Bias), shownWeights)] {
		w.Biases = append(w.Biases, number(tensor.F16(v)))
	}
	if len(w.Streams) > 0 {
		e.count(int(base), w.Streams[0].Offset, len(values.Values)+len(values.Bias))
	}
	return w, table
}

// count adds the weights at an offset from a base, unless a task before uses the same.
func (e *taskExplainer) count(base int, offset int64, n int) {
	b := e.bases[base]
	place := weightPlace{e.container, b.Addr + uint64(offset)}
	if b.Section != nil && b.Section.Data == nil {
		place = weightPlace{e.weights, uint64(offset)}
	}
	if !e.seen[place] {
		e.seen[place] = true
		e.parameters += n
	}
}

// constants is the memory that an entry of the base-address table points at, if the file holds its content.
func (e *taskExplainer) constants(base int) ([]byte, bool) {
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

// print describes the task for people: what it computes, its fields block by block, its weights and its table.
func (r *taskReport) print(w *bufio.Writer) {
	fmt.Fprintf(w, "task %d  at 0x%x, address %s, version %d, %s\n", r.Index, r.Offset, r.Address, r.Version, plural(r.Length, "word"))
	fmt.Fprintf(w, "  %s\n", printable(r.What))
	var rows [][]string
	for _, g := range fieldGroups(r.Fields.task) {
		rows = append(rows, []string{g.name, strings.Join(g.fields, ", ")})
	}
	var unknown []string
	for _, m := range r.Unknown {
		unknown = append(unknown, fmt.Sprintf("%s %v", m.name, m.value))
	}
	if len(unknown) > 0 {
		rows = append(rows, []string{"unknown bits", strings.Join(unknown, ", ")})
	}
	printColumns(w, "  ", rows)
	r.Weights.print(w)
	r.Table.print(w)
}

type fieldGroup struct {
	name   string
	fields []string
}

// fieldGroups are the fields that mean something, block by block: those that are known to have a function and
// are not zero. What is set though nobody knows why comes last.
func fieldGroups(t *td.Task) []fieldGroup {
	var groups []fieldGroup
	var unknown []string
	eachField(t, func(f *td.Field, v uint32) {
		_, name, _ := strings.Cut(f.Name, ".")
		switch {
		case v == 0 || f.Confidence == td.Named || isStreamField(f):
			return
		case f.Confidence == td.Unknown:
			unknown = append(unknown, f.Name+" "+fieldText(f, v))
			return
		case f.Kind != td.Flag:
			name += " " + fieldText(f, v)
		}
		if n := len(groups); n == 0 || groups[n-1].name != f.Block.Name {
			groups = append(groups, fieldGroup{name: f.Block.Name})
		}
		g := &groups[len(groups)-1]
		g.fields = append(g.fields, name)
	})
	if len(unknown) > 0 {
		groups = append(groups, fieldGroup{"no known use", unknown})
	}
	return groups
}

// isStreamField reports whether a field places a kernel stream: the weights show those that are in use.
func isStreamField(f *td.Field) bool {
	for i := range td.V7KernelChannel {
		c := &td.V7KernelChannel[i]
		if f == c.Config.Enable || f == c.Config.CacheHint || f == c.Config.CrH || f == c.Prefetch || f == c.Offset || f == c.Size {
			return true
		}
	}
	for i := range td.V7KernelExtra {
		if c := &td.V7KernelExtra[i]; f == c.Config.CacheHint || f == c.Config.CrH || f == c.Size {
			return true
		}
	}
	return false
}

func (d *weightsDump) print(w *bufio.Writer) {
	if d == nil {
		return
	}
	line := "no weights of its own"
	if d.Count > 0 {
		line = fmt.Sprintf("%s weights %v", d.Type, tensor.ShapeOf(d.Shape...))
	}
	if d.Bias > 0 {
		line += fmt.Sprintf(" and %s", pluralOf(d.Bias, "bias", "biases"))
	}
	line += fmt.Sprintf(", %s on %s", plural(d.Lanes, "lane"), plural(d.Engines, "engine"))
	if d.ZeroSkip {
		line += ", zeros left out"
	}
	if d.RunTime {
		line += ", made at run time"
	}
	fmt.Fprintf(w, "  kernel from %s: %s\n", printable(d.Source), line)
	var rows [][]string
	for _, s := range d.Streams {
		rows = append(rows, []string{fmt.Sprintf("engine %d", s.Engine), fmt.Sprintf("+0x%x", s.Offset), fmt.Sprintf("0x%x bytes", s.Size)})
	}
	printColumns(w, "    ", rows)
	if d.Values != nil {
		fmt.Fprintf(w, "    weights %s\n", numbersText(d.Values, d.Count))
	}
	if d.Biases != nil {
		fmt.Fprintf(w, "    biases %s\n", numbersText(d.Biases, d.Bias))
	}
	if d.Note != "" {
		fmt.Fprintf(w, "    %s\n", printable(d.Note))
	}
}

// numbersText lists the first of so many numbers.
func numbersText(list []number, of int) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, shortNumber(float64(v)))
	}
	if of > len(list) {
		parts = append(parts, "…")
	}
	return strings.Join(parts, " ")
}

func pluralOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}
