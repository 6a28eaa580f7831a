package anec

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// A gateSeen is a string that a validator rejects with, of the layer that meets it on the most targets.
type gateSeen struct {
	kind    Kind
	id      diag.ID
	text    string
	source  string
	targets int
	limits  []limitSeen
}

type limitSeen struct {
	limit   string
	targets []string
}

// TestGatesOfKinds writes down the strings of the validators with their limits, for `espalier layers`. They stand in the
// code of the validators, some with numbers in them, so they are asked for: the layers of the other tests meet them all.
func TestGatesOfKinds(t *testing.T) {
	seen := map[string]*gateSeen{}
	for _, l := range testedLayers() {
		for text, g := range gatesMet(l) {
			if old := seen[text]; old == nil || g.targets > old.targets {
				seen[text] = g
			}
		}
	}
	var list []*gateSeen
	met := map[diag.ID]bool{}
	for _, g := range seen {
		list = append(list, g)
		met[g.id] = true
	}
	place := map[diag.ID]int{}
	for i, row := range diag.Rows() {
		place[row.ID] = i
		if row.Group == diag.Layers && !met[row.ID] && !slices.Contains(everyKind, row.ID) && !slices.Contains(unmet, row.ID) {
			t.Errorf("no layer of the tests meets %s", row.ID)
		}
	}
	slices.SortFunc(list, func(a, b *gateSeen) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(place[a.id], place[b.id]), cmp.Compare(a.text, b.text))
	})
	var b bytes.Buffer
	fmt.Fprint(&b, `# What the validators reject layers with: kind, ID, then for each limit the limit and the targets that have it, the string with
# the numbers of one layer, and where it is from. This file is made by a test that asks the validators:
# go test ./internal/anec -run TestGatesOfKinds -update
`)
	for _, g := range list {
		fmt.Fprintf(&b, "\n%v\t%s\n", g.kind, g.id)
		for _, l := range g.limits {
			fmt.Fprintf(&b, "limit\t%s\t%s\n", l.limit, strings.Join(l.targets, " "))
		}
		fmt.Fprintf(&b, "text\t%s\nsource\t%s\n", g.text, g.source)
	}
	testkit.Golden(t, filepath.Join("..", "..", "explain", "layers", "gates.txt"), b.Bytes())
}

// everyKind are the gates that layers of every kind meet.
var everyKind = []diag.ID{diag.TensorExtent}

// unmet are gates that no target has today: TestTransposeExtent makes one up.
var unmet = []diag.ID{diag.TransposeExtent}

// moreGates are layers that meet what those of other tests do not.
var moreGates = []gateCase{
	{layer: "SpaceToChannel X=5", bottoms: "fp16[1,1,3,10,10]"},
	{layer: "BatchToSpace X=5", bottoms: "fp16[5,1,3,8,8]"},
}

var digits = regexp.MustCompile(`[0-9]+`)

// gatesMet are the strings with which the targets reject a layer, by kind, ID and string without its numbers.
func gatesMet(l *Layer) map[string]*gateSeen {
	met := map[string]*gateSeen{}
	for _, target := range gateTargets() {
		r := Validate(l, target)
		if r == nil || slices.Contains(everyKind, r.ID) || r.ID == diag.NeuronMode && l.Kind() != KindNeuron { // that is of an epilogue
			continue
		}
		key := fmt.Sprintf("%v %s %s", l.Kind(), r.ID, digits.ReplaceAllString(r.Text, "0"))
		g := met[key]
		if g == nil {
			g = &gateSeen{kind: l.Kind(), id: r.ID, text: r.Text, source: r.Source}
			met[key] = g
		}
		g.targets++
		i := slices.IndexFunc(g.limits, func(s limitSeen) bool { return s.limit == r.Limit })
		if i < 0 {
			i = len(g.limits)
			g.limits = append(g.limits, limitSeen{limit: r.Limit})
		}
		g.limits[i].targets = append(g.limits[i].targets, target.Name)
	}
	return met
}

// gateTargets are the first target of each family, oldest first, then the smallest part, which alone lacks a byte.
func gateTargets() (list []*hal.Target) {
	for f := hal.A11Legacy; f <= hal.A18; f++ {
		i := slices.IndexFunc(hal.Targets(), func(t *hal.Target) bool { return t.Family == f })
		list = append(list, hal.Targets()[i])
	}
	smallest, err := hal.Lookup("m9")
	if err != nil {
		panic("bug: " + err.Error())
	}
	return append(list, smallest)
}

// testedLayers are the layers of the tests of validators, shapes and code generation.
func testedLayers() (layers []*Layer) {
	for _, c := range validatorCases {
		layers = append(layers, c.layer)
	}
	for _, c := range moveGates {
		if l, err := (shapeCase{layer: c.layer, bottoms: c.bottoms}).build(); err == nil {
			layers = append(layers, l)
		}
	}
	for _, c := range slices.Concat(rawMoveGates, moreGates) {
		if l, err := c.raw(); err == nil {
			layers = append(layers, l)
		}
	}
	for _, k := range Kinds() { // validators that Apple's compiler exports count the bottoms
		if k.Info().Desc != "" {
			layers = append(layers, &Layer{Name: "y", Params: NewParams(k)})
		}
	}
	for _, c := range shapeCases {
		if l, err := c.build(); err == nil {
			layers = append(layers, l)
		}
	}
	for _, c := range codegenCases {
		if l, err := (shapeCase{layer: c.layer, bottoms: c.bottoms}).build(); err == nil {
			layers = append(layers, l)
		}
	}
	return layers
}
