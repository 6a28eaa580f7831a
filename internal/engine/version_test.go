package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// mixing is a program of which the first channel of the result is a·x₀ + b·x₁ + c·x₂, with 1, 2, 3 in the container; and where
// these are.
func mixing(t *testing.T) (*hwx.File, engine.Stretch) {
	t.Helper()
	f16 := tensor.Float16
	file := virtualFile(t, "virtual", td.V256, &td.Op{Params: &td.Convolution{Window: td.UnitWindow, Groups: 1}, Operands: []td.Operand{
		td.Dense(baseY, 0, f16, rowDims), td.Dense(baseX, 0, f16, rowDims),
		td.Dense(hwx.BaseConst, 0, f16, [td.NumAxes]int{3, 1, 3, 1, 1}),
	}})
	for _, s := range file.Sections() {
		if s != file.Text() && len(s.Data) > 2 && binary.LittleEndian.Uint16(s.Data) == tensor.ToF16(1) {
			return file, engine.Stretch{Section: s.Segment.String() + "," + s.Name.String(), Lo: 0, Hi: 6}
		}
	}
	t.Fatal("the container has no constants")
	return nil, engine.Stretch{}
}

func halfBytes(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, tensor.ToF16(v))
	}
	return b
}

func TestVersions(t *testing.T) {
	ctx := context.Background()
	file, where := mixing(t)
	before := bytes.Clone(sectionOf(file, where.Section))
	p, err := engine.LoadWith(file, engine.Options{Numerics: plain, Mutable: []engine.Stretch{where}})
	if err != nil {
		t.Fatal(err)
	}
	// The weights come in another order: c, b, a.
	edit := func(c, b, a float32) engine.Edit {
		return engine.Edit{Section: where.Section, From: 2, Loops: []engine.Loop{{Count: 3, Bytes: 2, Elements: -1}}, Width: 2, Elements: halfBytes(c, b, a)}
	}
	patch := func(of *engine.Version, e engine.Edit) *engine.Version {
		t.Helper()
		v, err := p.Patch(ctx, of, []engine.Edit{e})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	c := p.NewContext()
	x := grid(newRand(1), 3*64)
	check := func(what string, a, b, d float32) {
		t.Helper()
		want := make([]float32, 3*64)
		for w := range 64 {
			want[w] = a*x[w] + b*x[64+w] + d*x[128+w]
		}
		if err := c.Set("x", x); err != nil {
			t.Fatal(err)
		}
		if err := p.RunAll(ctx, c); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(want))
		if err := c.Get("y", got); err != nil {
			t.Fatal(err)
		}
		equal(t, what, got, want)
	}
	check("as loaded", 1, 2, 3)
	first := patch(p.Base(), edit(6, 5, 4))
	check("the base does not change", 1, 2, 3)
	c.Use(first)
	check("patched", 4, 5, 6)
	second := patch(first, engine.Edit{Section: where.Section, At: 2, Width: 2, Elements: halfBytes(8)})
	c.Use(second)
	check("patched again, one element", 4, 8, 6)
	c.Use(first)
	check("the first still is what it was", 4, 5, 6)
	if !bytes.Equal(sectionOf(file, where.Section), before) {
		t.Error("the file was written to")
	}
	if first.Packed() == 0 || first.Rooms() == 0 {
		t.Error("nothing was packed")
	}
	first.Release()
	if n := first.Rooms(); n != 0 {
		t.Errorf("%d operands of a version that nobody uses have memory", n)
	}
	c.Use(second)
	check("one that was made of another, which is gone", 4, 8, 6)
	second.Release()

	for _, c := range []struct {
		name string
		edit engine.Edit
	}{
		{"other bytes", engine.Edit{Section: where.Section, At: 1 << 20, Width: 2, Elements: halfBytes(1)}},
		{"before the first", engine.Edit{Section: where.Section, Loops: []engine.Loop{{Count: 2, Bytes: -2}}, Width: 2, Elements: halfBytes(1)}},
		{"another section", engine.Edit{Section: "__TEXT,__text", Width: 2, Elements: halfBytes(1)}},
		{"more elements than there are", engine.Edit{Section: where.Section, Loops: []engine.Loop{{Count: 3, Bytes: 2, Elements: 1}}, Width: 2, Elements: halfBytes(1, 2)}},
		{"no step", engine.Edit{Section: where.Section, Loops: []engine.Loop{{Count: 0}}, Width: 2, Elements: halfBytes(1)}},
	} {
		if _, err := p.Patch(ctx, p.Base(), []engine.Edit{c.edit}); err == nil {
			t.Errorf("%s: it was patched", c.name)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Patch(ended, p.Base(), []engine.Edit{edit(1, 1, 1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context: %v", err)
	}
	wrong := where
	wrong.Hi = 1 << 30
	if _, err := engine.LoadWith(file, engine.Options{Numerics: plain, Mutable: []engine.Stretch{wrong}}); err == nil || !strings.Contains(err.Error(), "may change") {
		t.Errorf("a stretch that is not there: %v", err)
	}
}

// An operand that lies partly in a stretch is in it as a whole.
func TestStretchGrows(t *testing.T) {
	file, where := mixing(t)
	where.Lo, where.Hi = 2, 4
	p, err := engine.LoadWith(file, engine.Options{Numerics: plain, Mutable: []engine.Stretch{where}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Patch(context.Background(), p.Base(), []engine.Edit{{Section: where.Section, Width: 2, Elements: halfBytes(7)}})
	if err != nil {
		t.Fatal(err)
	}
	v.Release()
}

func sectionOf(file *hwx.File, name string) []byte {
	for _, s := range file.Sections() {
		if s.Segment.String()+","+s.Name.String() == name {
			return s.Data
		}
	}
	return nil
}
