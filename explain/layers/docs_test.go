package layers

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestDocs keeps docs/layers.md in step with the table of kinds, what their validators say, and what compiles of their examples.
func TestDocs(t *testing.T) {
	var p page
	p.intro()
	p.kinds()
	p.fields()
	p.facts()
	p.refused()
	p.absents()
	p.validators()
	p.gates()
	p.codegen()
	p.sources()
	testkit.Golden(t, filepath.Join(testkit.Root(t), "docs", "layers.md"), p.Bytes())
}

// A page is written part by part.
type page struct{ bytes.Buffer }

func (p *page) text(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// table begins a table.
func (p *page) table(columns ...string) {
	p.row(columns...)
	p.text("%s|\n", strings.Repeat("|---", len(columns)))
}

func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", "\\|")
	}
	p.text("| %s |\n", strings.Join(cells, " | "))
}

func (p *page) intro() {
	p.text(`# Native layers

The layer kinds of the graph that models are lowered to and network descriptions are read into. This page is made from the table
in ` + "`internal/anec`" + ` and from what compiles of each kind's example: after a change there, run
` + "`go test ./explain/layers -run TestDocs -update`" + `. ` + "`espalier layers KIND`" + ` shows one kind.

Tensors have the axes N, D, C, H, W. A bottom is what a layer reads, a top what it makes. Bottoms in brackets are optional;
*c* must be constant; *w* is constant on every chip; *i* are indices; … repeats. The class is the number of the operation class
(` + "`ZinUnitType`" + `). First chips are those of the two routes: converted from a model, authored in a network description. The last two
columns say whether the example runs: on our own engine, and on the M1 in its own encoding (native), in tasks of ours (extension)
or not, for the reason that stands under code generation or reject strings.

`)
}

func (p *page) kinds() {
	for _, part := range []struct {
		standing    anec.Standing
		title, text string
	}{
		{anec.Descriptor, "Descriptors", "Kinds with a descriptor and a validator in Apple's compiler."},
		{anec.Computed, "Computed", "Kinds with a validator and no descriptor."},
		{anec.UnitOnly, "Units", "Kinds that a netplist, or the compiler inside, has as a unit, without a validator of their own."},
		{anec.Ours, "Ours", "Kinds without a class of their own: micro-operations that stand alone here, and what the target `virtual` adds."},
	} {
		kinds := slices.DeleteFunc(anec.Kinds(), func(k anec.Kind) bool { return k.Info().Standing != part.standing })
		p.text("## %s\n\n%s %d kinds.\n\n", part.title, part.text, len(kinds))
		p.table("Kind", "Class", "Bottoms", "Tops", "Converted", "Authored", "virtual", "h13", "Sources", "Inferred")
		for _, k := range kinds {
			p.kind(k)
		}
		p.text("\n")
	}
}

func (p *page) kind(k anec.Kind) {
	info := k.Info()
	name := "`" + info.Name + "`"
	if info.Desc != "" && info.Desc != info.Name {
		name += " (" + info.Desc + ")"
	}
	var bottoms []string
	for _, o := range info.Contract.Bottoms {
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
	authored, _ := firstAuthored(k)
	virtual, h13 := encode(k, "virtual"), encode(k, "h13")
	p.row(name, fmt.Sprint(int(info.Class)), strings.Join(bottoms, ", "), strings.Join(info.Contract.Tops, ", "),
		firstConverted(k).text(), authored.text(), runs(virtual, "yes"), runs(h13, "native"), info.Sources, info.Unsure)
}

// runs says how an example runs.
func runs(e Encoding, own string) string {
	switch {
	case e.Tasks == 0:
		return "no"
	case e.Own:
		return own
	}
	return "extension"
}

func (p *page) fields() {
	p.text(`## Fields

? marks a key that no source has and that is inferred from others; a field without a key is ours, or one of a descriptor whose key is not
known: a netplist has it as Espalier and its name, as EspalierDilation. The default is what a field has if nothing is said; – is for
one that has to be said. In a netplist, Concat is along Channel unless it says otherwise, and an extent that Reshape does not name is 1.

Values are in the words of a graph's text. A netplist has other ones for

- axes: Batch, Depth, Channel, Height, Width
- element types: Float16, UInt8 and so on
- the functions of a Neuron: ReLU, Sigmoid, Tanh and so on; a wrong word is answered with all of them
- Step: the stride along W, then along H, then along D
- Indices: false for values, true for indices
- numbers of Neuron, GOC and ScaledElementWise, Alpha and each Epsilon: the bits of an fp16, as an integer

`)
	p.table("Kind", "Field", "Key in a netplist", "Holds", "Default")
	for _, k := range anec.Kinds() {
		for _, f := range anec.Fields(k) {
			key, holds := "", f.Type(k)
			if f.Net != "" {
				key = "`" + f.Net + "`"
			}
			if f.Inferred {
				key += " ?"
			}
			if tokens := f.Tokens(k); len(tokens) > 0 {
				holds = strings.Join(tokens, ", ")
			}
			usual := f.Default(k)
			if usual == "" {
				usual = "–"
			}
			p.row(k.String(), f.Name, key, holds, usual)
		}
	}
	p.text("\n")
}

// facts is the part on what the phases ask of a kind.
func (p *page) facts() {
	p.text(`## What the compiler knows of a kind

- Unit: the part of a chip that runs its tasks, as far as a source says so.
- Epilogue: what a task can do with its result before it is stored: nothing, what the layer was made with, the steps of a run on
  targets that have runs, and on a chip also the slots of the array or those of the planar engine. *texture*: the kind itself can
  stand in the texture slot of another layer. *broadcasts*: its sources may have extent 1 along any axis of the result.
- View: it looks at the memory of its bottom in another way and moves nothing: always, or for some of its fields.
- In place: the bottoms that its result may be written over.
- Integers: of integers it computes in integers also where the result is of another type, as comparisons do.
- Hidden: a network description reaches it, and as a unit of one it is a segment of its own on chips.
- Cost: operations that follow from the extents, or nothing to pay, or why there is no number.

`)
	p.table("Kind", "Unit", "Epilogue", "View", "In place", "Integers", "Hidden", "Cost", "No task, because")
	for _, k := range anec.Kinds() {
		info := k.Info()
		epilogue := info.Epilogue.String()
		if info.TextureSlot == anec.Yes {
			epilogue += ", *texture*"
		}
		if info.Broadcasts == anec.Yes {
			epilogue += ", *broadcasts*"
		}
		usual := &anec.Layer{Params: anec.NewParams(k)}
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
		p.row(k.String(), info.Unit.String(), epilogue, view, over, info.Integers.String(), info.Hidden.String(), cost, info.NoTask)
	}
	p.text("\n")
}

// refused is the list of what nothing runs.
func (p *page) refused() {
	p.text("## Refused\n\nKinds that no target runs, ours included (`layer-refused`).\n\n")
	p.table("Kind", "Why")
	for _, k := range anec.Kinds() {
		if why := k.Info().Refused; why != "" {
			p.row(k.String(), why)
		}
	}
	p.text("\n")
}

func (p *page) absents() {
	p.text("## Classes and layers without a kind\n\nA unit with such a type tag is refused with the reason.\n\n")
	p.table("Class", "Name", "Why")
	for _, a := range anec.Absents() {
		class := ""
		if a.Class != 0 {
			class = fmt.Sprint(int(a.Class))
		}
		p.row(class, a.Name, a.Why)
	}
	p.text("\n")
}

// exports are the validators of Apple's compiler that are for no layer, and what there is for each here (guide 22).
var exports = [][]string{
	{"_ANECValidate", "one operation or descriptor", "`anec.Validate`"},
	{"_ANECValidateNetworkCreate", "a network, layer by layer", "`anec.ValidateNetwork`"},
	{"_ANECValidateMPSModule", "a module before it is converted", "`anec.ValidateModule`"},
	{"_ANECValidateMPSModuleCreate", "what a module becomes", "`anec.ValidateModuleCreate`"},
	{"_ANECValidateMutableProcedureInfo", "a procedure that edits weights", "`anec.ValidateMutableProcedure`"},
}

func (p *page) validators() {
	var exported, without []anec.Kind
	for _, k := range anec.Kinds() {
		if k.Info().Desc != "" {
			exported = append(exported, k)
		} else {
			without = append(without, k)
		}
	}
	p.text(`## Validators

Apple's compiler exports %d validators for layers, one for each descriptor and for each computed kind, and %d that are for none. What they
ask of bottoms is below, as the compiler counts them: a constant that is part of the layer does not count. What else they ask of a
layer stands under reject strings.

`, len(exported), len(exports))
	p.table("Kind", "Bottoms", "Text", "Source")
	for _, k := range exported {
		pattern := &k.Info().Pattern
		p.row(k.String(), pattern.Count(), pattern.Text, pattern.Source)
	}
	p.text("\n### Of no layer\n\n")
	p.table("Export", "Validates", "Here")
	for _, e := range exports {
		p.row("`"+e[0]+"`", e[1], e[2])
	}
	p.text("\n### Without a validator\n\n")
	p.table("Layer", "Why")
	for _, k := range without {
		p.row(k.String(), k.Info().NoValidator)
	}
	p.text("\n")
}

func (p *page) gates() {
	p.text(`## Reject strings

What the validators reject layers with, each with the numbers of one layer that meets it, and the limits of the chips. Every kind has
the limits of ` + "`tensor-extent`" + ` beside these.

`)
	p.table("Kind", "ID", "Text", "Limits")
	for _, k := range anec.Kinds() {
		for _, g := range gatesOf(k) {
			var limits []string
			for _, l := range g.Limits {
				limits = append(limits, fmt.Sprintf("%s: %s", chipsText(l.has), l.Limit))
			}
			p.row(k.String(), "`"+string(g.ID)+"`", g.Text, strings.Join(limits, "; "))
		}
	}
	p.text("\n")
}

func (p *page) codegen() {
	p.text(`## Code generation

A layer that passes its validator is not thereby one that code comes of. This is what is known of it, by families of
targets (A13 is that of the M1) and by how the layer came: converted from a model, or authored in a network description.

`)
	p.table("Layer", "Route", "Families", "Code", "Text", "Status", "Source")
	for _, k := range anec.Kinds() {
		for _, v := range k.Info().Codegen {
			status := v.Status.String()
			if v.Seen != nil {
				status += " on " + strings.Trim(fmt.Sprint(v.Seen), "[]") + ", else predicted"
			}
			if v.Disputed != nil {
				status += "; disputed on " + strings.Trim(fmt.Sprint(v.Disputed), "[]") + ": " + v.Against
			}
			p.row(fmt.Sprintf("%v: %s", k, v.Subject), v.Route.String(), fmt.Sprintf("%v to %v", v.From, v.To), codeWord(&v), v.Text, status, v.Source)
		}
	}
	p.text("\n")
}

// codeWord says whether code comes of the layers of a row.
func codeWord(v *anec.CodegenVerdict) string {
	switch {
	case v.Fails:
		return "no"
	case v.StandIn:
		return "of other layers"
	}
	return "yes"
}

func (p *page) sources() {
	p.text("## Sources\n\n")
	var words []string
	for _, k := range anec.Kinds() {
		words = append(words, strings.Fields(k.Info().Sources)...)
	}
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		p.text("- **%s**: %s\n", word, anec.SourceTitle(word))
	}
}
