package espalier_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/netplist"
)

// Every kind of native layer, authored, against a plain definition of it: on our own engine, and on the M1's chip or against
// the gate that refuses it there. A case is named by its kind and, behind "_", by what is special about it.

// A nativeCase is a graph whose name is that of the case, and what its outputs are.
type nativeCase struct {
	name    string
	text    string // without the first line
	give    map[string][]float32
	within  float64
	steps   int
	refused map[string]string // by target: a part of what it says; it runs on the others
	define  func(in, states map[string][]float32) map[string][]float32
}

// y is a definition of the one output y.
func y(f func(in map[string][]float32) []float32) func(in, _ map[string][]float32) map[string][]float32 {
	return func(in, _ map[string][]float32) map[string][]float32 { return map[string][]float32{"y": f(in)} }
}

// m1 is what the M1 says of a layer that it refuses.
func m1(says string) map[string]string { return map[string]string{"h13": says} }

// runNative opens a model with a function for each of the graphs, which are authored: they go through a property list.
func runNative(t *testing.T, target string, form netplist.Form, graphs []*anec.Graph) *espalier.Model {
	t.Helper()
	f, files, _, err := netplist.FromGraphs(graphs)
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	if err := f.Write(&list, form); err != nil {
		t.Fatal(err)
	}
	if f, err = netplist.Read(list.Bytes()); err != nil {
		t.Fatal(err)
	}
	procedures, _, err := f.Procedures(func(name string) ([]byte, error) { return files[name], nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range procedures {
		graphs[i] = procedures[i].Graph
	}
	m, _ := openGraphs(t, target, graphs...)
	return m
}

func (c *nativeCase) graph(t *testing.T) *anec.Graph {
	t.Helper()
	return parseGraph(t, "graph "+c.name+"\n"+c.text)
}

func nativeCases() []nativeCase {
	return slices.Concat(windowLayers, pointwiseLayers, matrixLayers, normLayers, orderLayers, moveLayers, sampleLayers, geometryLayers, stateLayers)
}

func TestNativeLayers(t *testing.T) {
	cases := nativeCases()
	covered := map[anec.Kind]bool{}
	for target, form := range map[string]netplist.Form{"virtual": netplist.XML, "h13": netplist.Binary} {
		var graphs []*anec.Graph
		for i := range cases {
			g := cases[i].graph(t)
			for _, l := range g.Layers {
				covered[l.Kind()] = true
			}
			says, refused := cases[i].refused[target]
			if !refused {
				graphs = append(graphs, g)
				continue
			}
			if _, err := compileGraphs(t, target, g); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s on %s: %v; want %q", cases[i].name, target, err, says)
			}
		}
		m := runNative(t, target, form, graphs)
		for i := range cases {
			c := &cases[i]
			if _, refused := c.refused[target]; refused {
				continue
			}
			t.Run(c.name+"/"+target, func(t *testing.T) {
				f, err := m.Function(c.name)
				if err != nil {
					t.Fatal(err)
				}
				(&graphCase{give: c.give, within: c.within, steps: c.steps, define: c.define}).compare(t, f, c.graph(t))
			})
		}
	}
	for _, k := range anec.Kinds() {
		if why := k.Info().Refused; covered[k] == (why != "") && k != anec.KindNeuronCustom {
			t.Errorf("%v: it has a case: %t; a reason why none: %q", k, covered[k], why)
		}
	}
}

// What nothing runs is refused by name, on every target.
func TestRefusedLayers(t *testing.T) {
	for _, k := range anec.Kinds() {
		if k.Info().Refused == "" {
			continue
		}
		for _, target := range []string{"virtual", "h13", "h15"} {
			g, err := k.ExampleGraph()
			if err != nil {
				t.Fatal(err)
			}
			_, err = compileGraphs(t, target, g)
			finding, ok := errors.AsType[*diag.Finding](err)
			if !ok || !strings.Contains(err.Error(), "("+k.String()+")") || target == "virtual" && finding.ID != diag.LayerRefused {
				t.Errorf("%v on %s: %v", k, target, err)
			}
		}
	}
}

// each makes the elements of channels, rows and columns.
func each(c, h, w int, f func(c, h, w int) float64) []float32 {
	var list []float32
	for i := range c {
		for j := range h {
			for k := range w {
				list = append(list, float32(f(i, j, k)))
			}
		}
	}
	return list
}

// A cube has channels, rows and columns. Outside it is 0.
type cube struct {
	c, h, w int
	v       []float32
}

func (x cube) at(c, h, w int) float64 {
	if min(c, h, w) < 0 || c >= x.c || h >= x.h || w >= x.w {
		return 0
	}
	return float64(x.v[(c*x.h+h)*x.w+w])
}

func (x cube) has(h, w int) bool { return h >= 0 && w >= 0 && h < x.h && w < x.w }

// apart are numbers that differ from each other, in no order: n and 7 have no divisor in common.
func apart(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i*7%n-n/2) / 8
	}
	return list
}

// numbers are 1, 2, 3 …
func numbers(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i + 1)
	}
	return list
}

// sortedBy are the indices of keys in their order; equal ones keep theirs.
func sortedBy(keys []float32, descending bool) []int {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case keys[a] == keys[b]:
			return 0
		case (keys[a] < keys[b]) != descending:
			return -1
		}
		return 1
	})
	return order
}
