package sparse_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/encode/selection"
	"github.com/espalier-ane/espalier/internal/encode/v256"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// threeKinds has the convolutions, elementwise layers and functions of an encoder, each by itself, and leaves the rest to version
// 256.
type threeKinds struct{ encode.Encoder }

var kinds = segment.SetOf(anec.KindConv, anec.KindElementWise, anec.KindNeuron)

func (e threeKinds) Takes(s *segment.Segment, l *anec.Layer) error {
	if !kinds[l.Kind()] {
		return diag.Decline(diag.NativeKind, "%v has no task here", l.Kind())
	}
	return e.Encoder.Takes(s, l)
}

func (e threeKinds) Choose(c *segment.Choice) ([]segment.Task, error) {
	if k := c.Layer().Kind(); !kinds[k] || len(c.Layers) > 1 {
		return nil, diag.Decline(diag.NativeKind, "%v has no task here", k)
	}
	return e.Encoder.Choose(c)
}

func (threeKinds) Groups(*segment.Segment, []*anec.Layer) map[*anec.Layer]*anec.Layer { return nil }

// An encoder has the words.
type encoder struct {
	selection.Chip
	layout *sparseLayout
}

func newEncoder(l *sparseLayout, t *hal.Target) encoder {
	e := encoder{layout: l}
	e.Chip = selection.Chip{Target: t, Words: func(o *units.Op) *diag.Reason {
		if _, err := e.task(o, 0); err != nil {
			return diag.Decline(diag.NativeWords, "%v", err)
		}
		return nil
	}}
	return e
}

// Encode makes sparse tasks. One of version 256, which addresses of 15 bits do not reach, stands among them as it is; the
// container marks it by its index.
func (e encoder) Encode(tasks []segment.Task) ([]*td.Task, error) {
	list := make([]*td.Task, len(tasks))
	for i, t := range tasks {
		var err error
		if t.Unit != nil {
			e.layout.note(t.Layer.Kind())
			list[i], err = e.task(t.Unit, i)
		} else {
			list[i], err = v256.Task(t.Op, td.V256, i, len(tasks))
		}
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
	}
	return list, nil
}

// task puts an operation into registers.
func (e encoder) task(o *units.Op, index int) (*td.Task, error) {
	t := &td.Task{Version: sparseVersion, Header: make([]uint32, headerWords)}
	for _, r := range e.layout.registers {
		v := r.get(o)
		if int64(v) != int64(int32(v)) && int64(v) != int64(uint32(v)) {
			return nil, fmt.Errorf("%v: %d does not fit", r.field, v)
		}
		if v != 0 {
			t.Records = append(t.Records, td.Record{Addr: r.field.Addr, Words: []uint32{uint32(v)}})
		}
	}
	slices.SortFunc(t.Records, func(a, b td.Record) int { return cmp.Compare(a.Addr, b.Addr) })
	return t, t.Set(e.layout.Links.TaskID, uint32(index&0xffff))
}

// A decoder reads sparse tasks.
type decoder struct {
	layout *sparseLayout
	task   *td.Task
}

func (d *decoder) Decode(t *td.Task) (*units.Op, *td.Op, error) {
	d.task = t
	o := &units.Op{}
	for _, r := range d.layout.registers {
		v, _ := t.Get(r.field)
		r.set(o, int(int32(v)))
	}
	if part, err := o.Check(); err != nil {
		f, v := d.Field(part)
		return nil, nil, &td.FieldError{Field: f, Value: v, Msg: err.Error()}
	}
	return o, nil, nil
}

func (d *decoder) Field(p units.Part) (*td.Field, uint32) {
	f := d.layout.part[p]
	if f == nil {
		return nil, 0
	}
	v, _ := d.task.Get(f)
	return f, v
}
