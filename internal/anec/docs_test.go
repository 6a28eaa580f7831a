package anec

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
)

// TestDocs keeps docs/layers.md in step with the table.
func TestDocs(t *testing.T) {
	testkit.Golden(t, filepath.Join("..", "..", "docs", "layers.md"), layersPage())
}

func layersPage() []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, `# Native layers

The layer kinds of the graph that models are lowered to. This page is made from the table in `+"`internal/anec`"+`:
after a change there, run `+"`go test ./internal/anec -run TestDocs -update`"+`.

Tensors have the axes N, D, C, H, W. A bottom is what a layer reads, a top what it makes. Bottoms in brackets are optional;
*c* must be constant; *w* is constant on every chip; *i* are indices; … repeats. A field stands with its key in a netplist, if there is
one; ? marks a key that no source has and that is inferred from others. The class is the number of the operation class (`+"`ZinUnitType`"+`).

`)
	for _, part := range []struct {
		standing    Standing
		title, text string
	}{
		{Descriptor, "Descriptors", "Kinds with a descriptor and a validator in Apple's compiler."},
		{Computed, "Computed", "Kinds with a validator and no descriptor."},
		{UnitOnly, "Units", "Kinds that a netplist, or the compiler inside, has as a unit, without a validator of their own."},
		{Ours, "Ours", "Kinds without a class of their own: micro-operations that stand alone here, and what the target `virtual` adds."},
	} {
		kinds := slices.DeleteFunc(Kinds(), func(k Kind) bool { return k.Info().Standing != part.standing })
		fmt.Fprintf(&b, "## %s\n\n%s %d kinds.\n\n", part.title, part.text, len(kinds))
		fmt.Fprint(&b, "| Kind | Class | Bottoms | Tops | Fields | Sources | Inferred |\n|---|--:|---|---|---|---|---|\n")
		for _, k := range kinds {
			fmt.Fprintf(&b, "%s\n", kindRow(k))
		}
		fmt.Fprintln(&b)
	}
	factsSection(&b)
	fmt.Fprint(&b, "## Classes without a kind\n\n| Class | | Why |\n|--:|---|---|\n")
	for c := td.Class(1); c <= td.NumClasses; c++ {
		if why := otherClasses[c]; why != "" {
			fmt.Fprintf(&b, "| %d | %v | %s |\n", c, c, why)
		}
	}
	gatesSection(&b)
	fmt.Fprint(&b, "\n## Sources\n\n")
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "- **%s**: %s\n", name, sources[name])
	}
	return b.Bytes()
}

// factsSection is the part on what the phases ask of a kind.
func factsSection(b *bytes.Buffer) {
	fmt.Fprint(b, `## What the compiler knows of a kind

- Unit: the part of a chip that runs its tasks, as far as a source says so.
- Epilogue: what a task can do with its result before it is stored: nothing, what the layer was made with, the steps of a run on
  targets that have runs, and on a chip also the slots of the array or those of the planar engine. *texture*: the kind itself can
  stand in the texture slot of another layer. *broadcasts*: its sources may have extent 1 along any axis of the result.
- View: it looks at the memory of its bottom in another way and moves nothing: always, or for some of its fields.
- In place: the bottoms that its result may be written over.
- Integers: of integers it computes in integers also where the result is of another type, as comparisons do.
- Hidden: a network description reaches it, and as a unit of one it is a segment of its own on chips.
- Cost: operations that follow from the extents, or nothing to pay, or why there is no number.

| Kind | Unit | Epilogue | View | In place | Integers | Hidden | Cost | No task, because |
|---|---|---|---|---|---|---|---|---|
`)
	for _, k := range Kinds() {
		info := k.Info()
		epilogue := info.Epilogue.String()
		if info.TextureSlot == Yes {
			epilogue += ", *texture*"
		}
		if info.Broadcasts == Yes {
			epilogue += ", *broadcasts*"
		}
		usual := &Layer{Params: NewParams(k)}
		view := "no"
		switch {
		case info.View.Only:
			view = "yes"
		case info.View.When(usual.Params):
			view = "a copy that need not be made"
		}
		over := "none"
		switch {
		case info.InPlace(usual, 1):
			over = "any"
		case info.InPlace(usual, 0):
			over = "the first"
		}
		cost := info.Cost.None
		switch {
		case info.Cost.Free:
			cost = "free"
		case info.Cost.FLOPs != nil:
			cost = "operations"
		}
		fmt.Fprintf(b, "| %v | %v | %s | %s | %s | %v | %v | %s | %s |\n", k, info.Unit, epilogue, view, over, info.Integers, info.Hidden, cost, info.NoTask)
	}
	fmt.Fprintln(b)
}

func kindRow(k Kind) string {
	info := k.Info()
	name := "`" + info.Name + "`"
	if info.Desc != "" && info.Desc != info.Name {
		name += " (" + info.Desc + ")"
	}
	contract := &info.Contract
	var bottoms []string
	for _, o := range contract.Bottoms {
		s := o.Name
		switch {
		case o.Const:
			s += " *c*"
		case o.Weight:
			s += " *w*"
		}
		if o.Indices {
			s += " *i*"
		}
		if o.Repeats {
			s += " …"
		}
		if o.Optional {
			s = "[" + s + "]"
		}
		bottoms = append(bottoms, s)
	}
	var fields []string
	for _, f := range Fields(k) {
		s := f.Name
		if f.Net != "" && f.Net != f.Name {
			s += " `" + f.Net + "`"
		} else if f.Net != "" {
			s = "`" + f.Name + "`"
		}
		if f.Inferred {
			s += "?"
		}
		fields = append(fields, s)
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %s | %s | %s |", name, info.Class,
		strings.Join(bottoms, ", "), strings.Join(contract.Tops, ", "), strings.Join(fields, ", "), info.Sources, info.Unsure)
}
