package layers

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
)

var (
	//go:embed gates.txt
	gatesText string
	//go:embed operations.txt
	operationsText string
)

// gatesOf are the gates of a kind's validator.
func gatesOf(k anec.Kind) []Gate {
	if list := allGates()[k.String()]; list != nil {
		return list
	}
	return []Gate{}
}

// allGates reads gates.txt, whose first lines explain it.
var allGates = sync.OnceValue(func() map[string][]Gate {
	gates := map[string][]Gate{}
	var kind string
	for line := range strings.Lines(gatesText) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		list := gates[kind]
		switch {
		case strings.HasPrefix(line, "#") || len(words) < 2:
		case words[0] == "limit":
			g := &list[len(list)-1]
			g.Limits = append(g.Limits, Limit{words[1], strings.Fields(words[2])})
		case words[0] == "text":
			list[len(list)-1].Text = words[1]
		case words[0] == "source":
			list[len(list)-1].Source = words[1]
		default:
			kind = words[0]
			row := diag.ID(words[1]).Row()
			gates[kind] = append(gates[kind], Gate{ID: row.ID, Title: row.Title, Helps: row.Helps})
		}
	}
	return gates
})

// operationsOf are the operations of MIL that become layers of a kind.
func operationsOf(k anec.Kind) []Operation {
	list := []Operation{}
	for _, o := range allOperations() {
		if slices.Contains(o.Layers, k.String()) {
			list = append(list, o)
		}
	}
	return list
}

// allOperations reads operations.txt, whose first lines explain it.
var allOperations = sync.OnceValue(func() (list []Operation) {
	for line := range strings.Lines(operationsText) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(words) != 3 {
			continue
		}
		o := Operation{Name: words[0], Layers: strings.Fields(words[2])}
		if words[1] != "-" {
			t, err := hal.Lookup(words[1])
			if err != nil {
				panic("bug: operations.txt: " + err.Error())
			}
			o.Converted = newChip(t)
		}
		list = append(list, o)
	}
	return list
})
