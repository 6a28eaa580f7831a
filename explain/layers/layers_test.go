package layers

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/ops"
)

// Every kind is explained, in both forms, and its example is a layer of it.
func TestKinds(t *testing.T) {
	table := All()
	if len(table.Kinds) != len(anec.Kinds()) {
		t.Errorf("%d kinds, want %d", len(table.Kinds), len(anec.Kinds()))
	}
	for i, kind := range anec.Kinds() {
		e := exampleOf(kind)
		if e.graph.Name != kind.String() || len(e.graph.Layers) != 1 || e.layer.Kind() != kind || !strings.Contains(e.line, " = anec.") {
			t.Errorf("%v has no example: %q", kind, e.line)
			continue
		}
		k, err := Find(kind.String())
		if err != nil || k.Name != table.Kinds[i].Name {
			t.Errorf("%v: found %v, %v", kind, k, err)
			continue
		}
		if has := k.Validator != ""; has == (k.NoValidator != "") || has && len(k.Gates) == 0 {
			t.Errorf("%v: validator %q, none %q, %d gates", kind, k.Validator, k.NoValidator, len(k.Gates))
		}
		if (k.Authored == nil) != (k.NoAuthored != "") || (k.Virtual.Tasks == 0) != (k.Virtual.Reason != "") || k.H13.Own == (k.H13.Reason != "") {
			t.Errorf("%v: something is without a reason: %+v", kind, k)
		}
		for _, f := range k.Fields {
			if f.Name == "" || f.Type == "" || f.Type == "token" && len(f.Tokens) == 0 || f.Default == "" && len(f.Tokens) == 0 && f.Type != "element type" {
				t.Errorf("%v: field %+v", kind, f)
			}
		}
		var text, written bytes.Buffer
		if err := errors.Join(k.WriteText(&text), k.WriteJSON(&written)); err != nil || !strings.HasPrefix(text.String(), k.Name+"\n") || written.Len() == 0 {
			t.Errorf("%v: %v\n%s", kind, err, &text)
		}
	}
}

// What the files say is about kinds, diagnostics and operations that there are.
func TestFiles(t *testing.T) {
	for name, gates := range allGates() {
		if _, ok := anec.KindOf(name); !ok {
			t.Errorf("gates.txt has the kind %q", name)
		}
		for _, g := range gates {
			if g.ID.Row().Group != diag.Layers || g.Title == "" || g.Text == "" || g.Source == "" || len(g.Limits) == 0 {
				t.Errorf("%s: %+v", name, g)
			}
			for _, l := range g.Limits {
				for _, target := range l.Targets {
					if _, err := hal.Lookup(target); err != nil || l.Limit == "" {
						t.Errorf("%s, %s: limit %q on %q: %v", name, g.ID, l.Limit, target, err)
					}
				}
			}
		}
	}
	for _, o := range allOperations() {
		if ops.Lookup(o.Name) == nil || len(o.Layers) == 0 {
			t.Errorf("operations.txt has %+v", o)
		}
		for _, name := range o.Layers {
			if _, ok := anec.KindOf(name); !ok {
				t.Errorf("%s becomes the kind %q", o.Name, name)
			}
		}
	}
}

// The guide's table of layer classes has the first family of some: chapter 26, table 26.1, and chapter 24, the floors.
func TestFirstChips(t *testing.T) {
	for name, want := range map[string][2]string{ // converted, authored
		"SDPA": {"A13", "A13"}, "CrossProduct": {"", "A13"}, "CrossCorrelation": {"", "A13"}, "PixelShuffle": {"A13", "A13"},
		"Sort": {"A14", "A14"}, "TopK": {"A14", "A14"}, "DynamicSlice": {"", "A14"},
		"CropResize": {"A14", "A14"}, "Resample": {"A14", "A14"}, "AffineTransform": {"A14", "A14"},
		"Conv": {"A11Legacy", "A11Legacy"}, "Softmax": {"A13", "A13"}, "RandomGenerator": {"A15", "A15"}, "Dropout": {"", "A13"},
		"ArgMinMax": {"A13", "A13"}, "GlobalArgMinMax": {"A15", "A13"}, "MinMaxNormalization": {"", "A13"},
		"NMS": {"", ""}, "TypeCast": {"A11Legacy", ""},
	} {
		k, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		family := func(c *Chip) string {
			if c == nil {
				return ""
			}
			return c.Family
		}
		if got := [2]string{family(k.Converted), family(k.Authored)}; got != want {
			t.Errorf("%s: converted and authored from %q, want %q", name, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{"conv": "Conv", "Pool": "Pooling", "MATRIXMULT": "MatrixMultiplication", "pad": "Padding"} {
		if k, err := Find(name); err != nil || k.Name != want {
			t.Errorf("%s: %v, %v; want %s", name, k, err, want)
		}
	}
	for name, want := range map[string][]string{
		"Convv":                   {"Conv"},
		"argmax":                  {},
		"shuffle":                 {"PixelShuffle", "PixelUnshuffle"},
		"":                        nil,
		strings.Repeat("x", 1000): nil,
	} {
		_, err := Find(name)
		unknown, ok := errors.AsType[*UnknownError](err)
		if !ok || !slices.Equal(unknown.Near, want) {
			t.Errorf("%.20s: %v, want %q", name, err, want)
		}
	}
}

func TestChipsText(t *testing.T) {
	for families, want := range map[string]string{
		"h11 h12 h13 h14 h15 h16 h17 h18": "every chip", "h11 h12 h13 m9": "chips before M2, A15", "h14 h15 h16 h17 h18": "M2, A15 or later",
		"h13": "M1", "h13 h15": "M1, M3", "m9": "the smallest parts alone",
	} {
		l := Limit{Targets: strings.Fields(families)}
		if got := chipsText(l.has); got != want {
			t.Errorf("%s: %q, want %q", families, got, want)
		}
	}
}
