package td

import (
	"fmt"
	"math"
	"slices"
)

// name returns what operand i is for the class.
func (o *Op) name(i int) string {
	row := o.Params.row()
	if i < len(row.results) {
		return row.results[i]
	}
	if i -= len(row.results); i < len(row.sources) {
		return row.sources[i]
	}
	return fmt.Sprintf("operand %d", i+len(row.results))
}

// Validate says what is wrong with the operation, nil if a task can hold it and
// its operands fit each other.
func (o *Op) Validate() error {
	if o.Params == nil {
		return fmt.Errorf("td: an operation without class")
	}
	if err := o.validate(); err != nil {
		return fmt.Errorf("td: %v: %w", o.Class(), err)
	}
	return nil
}

func (o *Op) validate() error {
	row := o.Params.row()
	needed := len(row.results) + row.needed
	if len(o.Operands) < needed || len(o.Operands) > maxOperands {
		return fmt.Errorf("want %d to %d operands, got %d", needed, maxOperands, len(o.Operands))
	}
	if !o.Operands[len(o.Operands)-1].Present() {
		return fmt.Errorf("the last operand is not there")
	}
	for i := range o.Operands {
		if !o.Operands[i].Present() {
			if i < needed && !(i == len(row.results)-1 && row.lastOptional) {
				return fmt.Errorf("%s is not there", o.name(i))
			}
			continue
		}
		if err := o.Operands[i].validate(); err != nil {
			return fmt.Errorf("%s: %w", o.name(i), err)
		}
	}
	for i, v := range o.Params.values() {
		if err := checkValue(v); err != nil {
			return fmt.Errorf("%s: %w", row.fields[i].Name, err)
		}
	}
	if err := o.Params.check(o); err != nil {
		return err
	}
	// Operands after those of the class are there for the epilogue.
	for i := len(row.results) + len(row.sources); i < len(o.Operands); i++ {
		if err := o.broadcast(i); err != nil {
			return err
		}
	}
	if len(o.Epilogue) > maxSteps {
		return fmt.Errorf("an epilogue has at most %d steps, got %d", maxSteps, len(o.Epilogue))
	}
	for k, m := range o.Epilogue {
		if err := o.validateStep(k, m); err != nil {
			return fmt.Errorf("step %d: %w", k, err)
		}
	}
	return nil
}

func (o *Operand) validate() error {
	if _, ok := ElementCode(o.Type); !ok {
		return fmt.Errorf("%v has no code", o.Type)
	}
	for a, d := range o.Dims {
		if d < 0 || d > maxDim {
			return fmt.Errorf("extent %d along %v: want 0 to %d", d, Axis(a), maxDim)
		}
	}
	switch {
	case o.Offset < 0:
		return fmt.Errorf("offset %d: want 0 or more", o.Offset)
	case o.Interleave < 1:
		return fmt.Errorf("interleave 0: want 1 or more")
	case o.Type.SubByte() && (o.Strides != [NumAxes]int64{} || o.Interleave != 1):
		return fmt.Errorf("%v lies packed: want strides 0 and interleave 1", o.Type)
	}
	if lo, _, ok := o.Extent(); !ok || lo < 0 {
		return fmt.Errorf("extents %v with strides %v leave the address space", o.Dims, o.Strides)
	}
	return nil
}

func (o *Op) validateStep(k int, m MicroOp) error {
	switch m.Code {
	case MicroScaleBias:
		if m.Function != 0 {
			return fmt.Errorf("%v takes no function", m.Code)
		}
	case MicroActivation:
		if !Function(m.Function).Valid() {
			return fmt.Errorf("%v is not known", Function(m.Function))
		}
	case MicroEW:
		if !EWKind(m.Function).Valid() {
			return fmt.Errorf("%v is not known", EWKind(m.Function))
		}
		if EWKind(m.Function) == EWSelect {
			return fmt.Errorf("%v takes three values, a step has two", EWSelect)
		}
	case MicroTypeCast:
		if _, ok := ElementType(m.Function); !ok {
			return fmt.Errorf("element type %d is not known", m.Function)
		}
	default:
		return fmt.Errorf("%v is not for an epilogue", m.Code)
	}
	if m.Code != MicroEW && (m.Source != NoSource || m.Swap) {
		return fmt.Errorf("%v takes no second value", m.Code)
	}
	if m.Source == NoSource {
		return nil
	}
	if i, ok := m.Source.Operand(); ok {
		if i >= len(o.Operands) || i < len(o.Params.row().results) || !o.Operands[i].Present() {
			return fmt.Errorf("%v cannot be read", m.Source)
		}
		return o.broadcast(i)
	}
	if s, ok := m.Source.Step(); !ok || s >= k {
		return fmt.Errorf("%v is not there", m.Source)
	}
	return nil
}

// Task returns the task that holds the operation: of version 256, or of one that
// it extends.
func (o *Op) Task(v Version) (*Task, error) {
	layout := LayoutOf(v)
	if layout == nil || v != V256 && !layout.Extends {
		return nil, fmt.Errorf("td: %v cannot hold an operation", v)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	row := o.Params.row()
	t := &Task{Version: v, Header: make([]uint32, layout.Codec.HeaderWords)}
	t.must(layout.Links.TaskID, uint32(o.ID))

	t.Records = append(t.Records, Record{addrMain, make([]uint32, 1)})
	present := uint32(0)
	for i := range o.Operands {
		if o.Operands[i].Present() {
			if b := o.Operands[i].Base; b < 0 || b > math.MaxUint16 {
				return nil, fmt.Errorf("td: operand %d counts from entry %d: want 0 to %d", i, b, math.MaxUint16)
			}
			present |= 1 << i
			addr := uint32(addrOperands + operandPitch*i)
			t.Records = append(t.Records, Record{addr, make([]uint32, operandWords)})
			o.Operands[i].store(t, &v256Operands[i])
		}
	}
	if n := len(o.Epilogue); n > 0 {
		t.Records = append(t.Records, Record{addrSteps, make([]uint32, stepWords*n)})
		for k, m := range o.Epilogue {
			m.store(t, &v256Steps[k])
		}
	}
	if row.block.Words > 0 {
		t.Records = append(t.Records, Record{row.block.Addr, make([]uint32, row.block.Words)})
		for i, v := range o.Params.values() {
			t.must(row.fields[i], wordOf(v))
		}
	}
	t.must(V256Class, uint32(row.class))
	t.must(V256Present, present)
	t.must(V256Results, uint32(len(row.results)))
	t.must(V256Steps, uint32(len(o.Epilogue)))
	return t, nil
}

// must sets a field of a register that the task has, to a value that fits.
func (t *Task) must(f *Field, value uint32) {
	if err := t.Set(f, value); err != nil {
		panic("bug: " + err.Error())
	}
}

func (o *Operand) store(t *Task, r *operandRows) {
	code, _ := ElementCode(o.Type)
	t.must(r.base, uint32(o.Base))
	t.must(r.element, uint32(code))
	t.must(r.interleave, uint32(o.Interleave))
	pair := func(f [2]*Field, v int64) {
		t.must(f[0], uint32(v))
		t.must(f[1], uint32(v>>32))
	}
	pair(r.offset, o.Offset)
	for a := range NumAxes {
		t.must(r.dims[a], uint32(o.Dims[a]))
		pair(r.strides[a], o.Strides[a])
	}
}

func (m *MicroOp) store(t *Task, r *stepRows) {
	t.must(r.code, uint32(m.Code))
	t.must(r.function, uint32(m.Function))
	t.must(r.source, uint32(m.Source))
	t.must(r.swap, wordOf(&m.Swap))
	t.must(r.a, math.Float32bits(m.A))
	t.must(r.b, math.Float32bits(m.B))
}

// Extension reports whether a task of another version is an extension: it writes
// registers of version 256.
func (t *Task) Extension() bool {
	if t.Version == V256 {
		return false
	}
	layout := LayoutOf(t.Version)
	return layout != nil && layout.Extends && slices.ContainsFunc(t.Records, func(r Record) bool { return r.Addr >= ExtensionBase })
}

// Op reads the operation that a task of version 256, or an extension, holds. The
// result is valid.
func (t *Task) Op() (*Op, error) {
	if t.Version != V256 && !t.Extension() {
		return nil, fmt.Errorf("td: a task of %v holds no operation", t.Version)
	}
	o, err := t.op()
	if err != nil {
		return nil, fmt.Errorf("td: %w", err)
	}
	return o, o.Validate()
}

func (t *Task) op() (*Op, error) {
	main, ok := t.Word(addrMain)
	if !ok {
		return nil, fmt.Errorf("the task does not write the class (register %#x)", uint32(addrMain))
	}
	row := rowOf(Class(V256Class.Of(main)))
	if row == nil {
		return nil, fmt.Errorf("register %#x: %v has no row in version 256", uint32(addrMain), Class(V256Class.Of(main)))
	}
	present, steps := V256Present.Of(main), int(V256Steps.Of(main))
	switch {
	case int(V256Results.Of(main)) != len(row.results):
		return nil, fmt.Errorf("register %#x: %v has %d results, not %d", uint32(addrMain), row.class, len(row.results), V256Results.Of(main))
	case steps > maxSteps:
		return nil, fmt.Errorf("register %#x: an epilogue of %d steps", uint32(addrMain), steps)
	}
	if err := t.onlyWrites(row, present, steps); err != nil {
		return nil, err
	}
	o := &Op{Params: row.new()}
	if id, ok := t.Get(LayoutOf(t.Version).Links.TaskID); ok {
		o.ID = uint16(id)
	}
	r := reader{task: t}
	for i := range maxOperands {
		if present>>i == 0 {
			break
		}
		var operand Operand
		if present&(1<<i) != 0 {
			operand = r.operand(&v256Operands[i])
		}
		o.Operands = append(o.Operands, operand)
	}
	for k := range steps {
		o.Epilogue = append(o.Epilogue, r.step(&v256Steps[k]))
	}
	for i, v := range o.Params.values() {
		r.value(row.fields[i], v)
	}
	return o, r.err
}

// onlyWrites refuses writes to registers that the operation does not have, and
// bits that no field names.
func (t *Task) onlyWrites(row *classRow, present uint32, steps int) error {
	for _, rec := range t.Records {
		for i, w := range rec.Words {
			addr := rec.Addr + 4*uint32(i)
			b := v256.Block(addr)
			has := b == v256Main || b == row.block ||
				b != nil && addr >= addrSteps && addr < addrSteps+uint32(4*stepWords*steps) ||
				b != nil && addr >= addrOperands && addr < addrSteps && present&(1<<((addr-addrOperands)/operandPitch)) != 0
			if !has {
				return fmt.Errorf("register %#x: %v does not have it", addr, row.class)
			}
			if u := b.Unnamed(addr, w); u != 0 {
				return fmt.Errorf("register %#x: bits %#x have no meaning", addr, u)
			}
		}
	}
	return nil
}

// A reader takes fields from a task and keeps the first error.
type reader struct {
	task *Task
	err  error
}

func (r *reader) get(f *Field) uint32 {
	v, ok := r.task.Get(f)
	if !ok {
		r.fail(f, "is not written")
	}
	return v
}

func (r *reader) fail(f *Field, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%v: %s", f, fmt.Sprintf(format, args...))
	}
}

// count reads an unsigned number that fits an int.
func (r *reader) count(f *Field) int {
	v := r.get(f)
	if v > maxDim {
		r.fail(f, "%d is more than %d", v, maxDim)
		return 0
	}
	return int(v)
}

func (r *reader) pair(f [2]*Field) int64 {
	return int64(r.get(f[0])) | int64(r.get(f[1]))<<32
}

func (r *reader) operand(rows *operandRows) Operand {
	o := Operand{
		Base:       int(r.get(rows.base)),
		Offset:     r.pair(rows.offset),
		Interleave: uint8(r.get(rows.interleave)),
	}
	code := r.get(rows.element)
	var ok bool
	if o.Type, ok = ElementType(uint8(code)); !ok {
		r.fail(rows.element, "element type %d is not known", code)
	}
	for a := range NumAxes {
		o.Dims[a] = r.count(rows.dims[a])
		o.Strides[a] = r.pair(rows.strides[a])
	}
	return o
}

func (r *reader) step(rows *stepRows) MicroOp {
	return MicroOp{
		Code:     MicroCode(r.get(rows.code)),
		Function: uint8(r.get(rows.function)),
		Source:   Source(r.get(rows.source)),
		Swap:     r.get(rows.swap) != 0,
		A:        math.Float32frombits(r.get(rows.a)),
		B:        math.Float32frombits(r.get(rows.b)),
	}
}

// value reads a field of a class.
func (r *reader) value(f *Field, to any) {
	small := func() uint8 {
		v := r.get(f)
		if v > math.MaxUint8 {
			r.fail(f, "%d is not known", v)
		}
		return uint8(v)
	}
	switch to := to.(type) {
	case *int:
		*to = r.count(f)
	case *bool:
		*to = r.get(f) != 0
	case *float32:
		*to = math.Float32frombits(r.get(f))
	case *uint32:
		*to = r.get(f)
	case *uint8:
		*to = small()
	case *uint16:
		v := r.get(f)
		if v > math.MaxUint16 {
			r.fail(f, "%#x has more than 16 bits", v)
		}
		*to = uint16(v)
	case *Axis:
		*to = Axis(small())
	case *Axes:
		*to = Axes(small())
	case *EWKind:
		*to = EWKind(small())
	case *ReductionKind:
		*to = ReductionKind(small())
	case *PoolKind:
		*to = PoolKind(small())
	case *Extreme:
		*to = Extreme(small())
	case *ArgMode:
		*to = ArgMode(small())
	case *SortDirection:
		*to = SortDirection(small())
	case *Results:
		*to = Results(small())
	case *ScaledEWKind:
		*to = ScaledEWKind(small())
	case *DistanceMetric:
		*to = DistanceMetric(small())
	default:
		panic(fmt.Sprintf("bug: field of type %T", to))
	}
}

// wordOf is the register word of a field of a class.
func wordOf(v any) uint32 {
	switch v := v.(type) {
	case *int:
		return uint32(*v)
	case *bool:
		if *v {
			return 1
		}
		return 0
	case *float32:
		return math.Float32bits(*v)
	case *uint32:
		return *v
	case *uint8:
		return uint32(*v)
	case *uint16:
		return uint32(*v)
	case *Axis:
		return uint32(*v)
	case *Axes:
		return uint32(*v)
	case *EWKind:
		return uint32(*v)
	case *ReductionKind:
		return uint32(*v)
	case *PoolKind:
		return uint32(*v)
	case *Extreme:
		return uint32(*v)
	case *ArgMode:
		return uint32(*v)
	case *SortDirection:
		return uint32(*v)
	case *Results:
		return uint32(*v)
	case *ScaledEWKind:
		return uint32(*v)
	case *DistanceMetric:
		return uint32(*v)
	}
	panic(fmt.Sprintf("bug: field of type %T", v))
}

// checkValue holds a field to what every field of its type has.
func checkValue(v any) error {
	switch v := v.(type) {
	case *int:
		if *v < 0 || *v > maxDim {
			return fmt.Errorf("%d: want 0 to %d", *v, maxDim)
		}
	case *Axis:
		if *v >= NumAxes {
			return fmt.Errorf("%d is no axis", *v)
		}
	case *Axes:
		if *v >= 1<<NumAxes {
			return fmt.Errorf("%#x has more than the %d axes", uint8(*v), NumAxes)
		}
	}
	return nil
}
