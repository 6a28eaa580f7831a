package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// clampVersion is a made-up version whose tasks clamp a row, in two words behind
// a short header: the entry of the source in the base-address table, and that of
// the result.
const clampVersion td.Version = 4712

type clampLayout struct {
	*td.Layout
	source, result *td.Field
}

func newClampLayout() clampLayout {
	l := clampLayout{Layout: td.NewLayout(clampVersion)}
	header, bases := l.AddHeader(3, "made up"), l.AddBlock("Bases", 0x10, 2, "made up")
	l.source = bases.AddField("Source", 0x10, 31, 0, td.Uint, td.Ours, "")
	l.result = bases.AddField("Result", 0x14, 31, 0, td.Uint, td.Ours, "")
	l.Links = td.Links{
		TaskID:     header.AddField("TaskID", 0, 31, 0, td.Uint, td.Ours, ""),
		NextOffset: header.AddField("NextOffset", 4, 31, 0, td.Uint, td.Ours, ""),
		NextWords:  header.AddField("NextWords", 8, 9, 0, td.Uint, td.Ours, ""),
	}
	l.Codec = td.Codec{
		HeaderWords: 3,
		Decode: func(v td.Version, words []uint32) (*td.Task, error) {
			if len(words) != 5 {
				return nil, fmt.Errorf("%d words", len(words))
			}
			return &td.Task{Version: v, Header: words[:3:3], Records: []td.Record{{Addr: 0x10, Words: words[3:]}}}, nil
		},
		Encode: func(t *td.Task) ([]uint32, error) {
			return append(append([]uint32(nil), t.Header...), t.Records[0].Words...), nil
		},
		Word: func(_ *td.Task, register uint32) int { return 3 + int(register-0x10)/4 },
	}
	return l
}

func (l *clampLayout) task(source, result uint32) *td.Task {
	return &td.Task{Version: clampVersion, Header: make([]uint32, 3), Records: []td.Record{{Addr: 0x10, Words: []uint32{source, result}}}}
}

// A clampDecoder is the decoder of the version.
type clampDecoder struct {
	layout *clampLayout
	width  int
	task   *td.Task
}

func (d *clampDecoder) Decode(t *td.Task) (*units.Op, *td.Op, error) {
	d.task = t
	size := units.Size{W: d.width, H: 1, D: 1, C: 1}
	o := units.Machine{Sizes: hal.Sizes{Engines: 16}}.Bypass(size)
	row := units.Align(2*d.width, 64)
	surface := func(base uint32) *units.Surface {
		return &units.Surface{Base: int(base), Row: row, Plane: row, Depth: row, Group: row}
	}
	source, _ := t.Get(d.layout.source)
	result, _ := t.Get(d.layout.result)
	o.Source1, o.Result, o.NonLinear = units.Source{Memory: surface(source)}, surface(result), units.ReLU
	return o, nil, nil
}

func (d *clampDecoder) Field(p units.Part) (*td.Field, uint32) {
	f := map[units.Part]*td.Field{
		units.PartSource1: d.layout.source, units.PartSource1Base: d.layout.source,
		units.PartResult: d.layout.result, units.PartResultBase: d.layout.result,
	}[p]
	if f == nil {
		return nil, 0
	}
	v, _ := d.task.Get(f)
	return f, v
}

// A version that only a test knows is read, bound and run, with strided operations
// between its tasks; what is wrong with it is told by its own fields.
func TestAnotherVersion(t *testing.T) {
	const width = 5
	layout := newClampLayout()
	defer td.AddLayout(layout.Layout)()
	ports := []hwx.PortSpec{port("x", hwx.In, 1, 1, 1, width), port("y", hwx.Out, 1, 1, 1, width), port("z", hwx.Out, 1, 1, 1, width)}
	double := &td.Op{
		Params: &td.ElementWise{Kind: td.EWAdd}, Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: 1, B: -3}},
		Operands: []td.Operand{onPort(hwx.BasePorts+2, &ports[2]), onPort(hwx.BasePorts+1, &ports[1]), onPort(hwx.BasePorts+1, &ports[1])},
	}
	foreign, err := double.Task(td.V256)
	if err != nil {
		t.Fatal(err)
	}
	file := func(tasks ...*td.Task) *hwx.File {
		spec := hwx.Spec{Form: hwx.Form2026, Ports: ports, Windows: []int{0, 1, 2}}
		return readBack(t, spec, tasks)
	}
	f := file(layout.task(hwx.BasePorts, hwx.BasePorts+1), foreign)
	if v, err := f.TaskVersion(); err != nil || v != clampVersion {
		t.Fatalf("%v, %v", v, err)
	}
	if _, err := engine.Load(f, plain); err == nil || !strings.Contains(err.Error(), "tasks of version 4712 are not executed") {
		t.Errorf("without decoder: %v", err)
	}
	defer engine.AddDecoder(clampVersion, func() engine.Decoder { return &clampDecoder{layout: &layout, width: width} })()
	p, err := engine.Load(f, plain)
	if err != nil {
		t.Fatal(err)
	}
	c := p.NewContext()
	x := []float32{-2, -0.5, 0, 1.5, 7}
	if err := c.Set("x", x); err != nil {
		t.Fatal(err)
	}
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, width)
	if err := c.Get("z", got); err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		if want := 2*max(v, 0) - 3; got[i] != tensor.RoundF16(want) {
			t.Errorf("element %d is %v, want %v", i, got[i], want)
		}
	}

	for _, c := range []struct {
		task  *td.Task
		field *td.Field
		msg   string
	}{
		{layout.task(hwx.BasePorts+1, hwx.BasePorts+2), layout.source, "no task has written"},
		{layout.task(200, hwx.BasePorts+2), layout.source, "in no memory"},
		{layout.task(1000, hwx.BasePorts+2), layout.source, "256 entries"},
		{layout.task(hwx.BasePorts, hwx.BasePorts), layout.result, "writes input port"},
	} {
		_, err := engine.Load(file(c.task), plain)
		var e *engine.Error
		if !errors.As(err, &e) || e.Field != c.field || e.Task != 0 || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("got %v, want an error about %v with %q", err, c.field, c.msg)
		}
	}
}

// A micro-kernel that the processor does not have is refused.
func TestUnknownMicroKernel(t *testing.T) {
	file := own(t, "relu").file(t)
	if _, err := engine.LoadWith(file, engine.Options{Numerics: plain, Gemm: "none"}); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("got %v", err)
	}
}
