package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/edit"
)

// Validation has three layers (guide 22), and ours are where the compiler's are:
//
//	exported  _ANECValidate<Name>Layer, 50 of them  Validate: the check in a kind's row
//	          _ANECValidate, for one unit           Validate
//	          the four others, for networks         this file
//	pattern   ValidateSemantics_Impl: MatchParams,  the pattern in the row, which validators
//	          MatchStatus                           match before they read a field
//	program   ZinComputeProgramValidate*, at load   package engine: Load refuses a program whose
//	                                                tasks, operands or surfaces do not fit
//
// Passing all three is still no promise of code: see Codegen.

// A Network is a graph as it is handed to a compiler.
type Network struct {
	Graph  *Graph
	Schema Version // of the description; the zero Version is the current one

	// Engines is over how many engines the network is bonded; 0 and 1 are one.
	Engines int

	// Converted: the layers came from a model, so that each must name the
	// operations it stands for.
	Converted bool

	// Edits are what a mutable procedure changes.
	Edits []WeightEdit
}

// A Version is that of a schema, such as 1.0.10.
type Version [3]int

// CurrentSchema is that of the network descriptions we know (guide 22).
var CurrentSchema = Version{1, 0, 10}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// newer reports whether v came after what we know.
func (v Version) newer() bool { return slices.Compare(v[:], CurrentSchema[:]) > 0 }

// ValidateNetwork is _ANECValidateNetworkCreate: what creating the network would
// reject, first of the whole and then of each layer, in the graph's order.
func ValidateNetwork(n *Network, t *hal.Target) []*diag.Finding {
	var found []*diag.Finding
	add := func(p diag.Place, r *diag.Finding) {
		if r != nil {
			found = append(found, r.At(diag.Refusal, p))
		}
	}
	add(diag.Place{}, validateSchema("network", n.Schema))
	if n.Engines > 1 {
		add(diag.Place{}, needs(t, hal.CapCollective, diag.Finding{
			ID: diag.BondedNetwork, Text: "Bonded networks are not supported on the target",
			Remedy: "compile for one engine", Source: "guide 22; the byte: guide 36",
		}))
	}
	seen := map[string]bool{}
	for _, l := range n.Graph.Order() {
		if seen[l.Name] {
			add(l.place(), unitCollision(l.Name))
		}
		seen[l.Name] = true
		if n.Converted && len(l.Origin) == 0 {
			add(l.place(), noRecord("layer", l.Name))
		}
		if r := Validate(l, t); r != nil && !lifted(r.ID, l, t, n.route()) {
			add(l.place(), r)
		}
	}
	return found
}

// place is where a layer is in the model: at the first operation that it came of.
func (l *Layer) place() diag.Place {
	p := diag.Place{Layer: l.Name}
	if len(l.Origin) > 0 {
		p.Operation = l.Origin[0]
	}
	return p
}

// lifted reports whether what stands in for a layer spares it a gate.
func lifted(id diag.ID, l *Layer, t *hal.Target, r Route) bool {
	s := StandInFor(l, t, r)
	return s != nil && s.Lifts == id
}

// route is how the layers came.
func (n *Network) route() Route {
	if n.Converted {
		return Converted
	}
	return Authored
}

func validateSchema(what string, v Version) *diag.Finding {
	if !v.newer() {
		return nil
	}
	return &diag.Finding{
		ID: diag.SchemaNewer, Text: fmt.Sprintf("%s schema %v is newer than the current schema %v", what, v, CurrentSchema),
		Limit: CurrentSchema.String(), Found: v.String(), Remedy: "write the description in the current schema", Source: "guide 22" + textOurs,
	}
}

func unitCollision(name string) *diag.Finding {
	return &diag.Finding{
		ID: diag.UnitCollision, Text: fmt.Sprintf("ANE internal error: Unit name \"%s\" collision during MIL to ANEC IR conversion.", name),
		Limit: "one unit of each name", Found: fmt.Sprintf("%q twice", name), Remedy: "rename one of them", Source: "guide 22",
	}
}

func noRecord(what, name string) *diag.Finding {
	return &diag.Finding{
		ID: diag.ConversionRecord, Text: fmt.Sprintf("%s %q has no conversion record", what, name),
		Limit: "a record for each", Found: "none", Remedy: "name the operations that it stands for", Source: "guide 22" + textOurs,
	}
}

// A Module is a program before it is converted to layers: what its validators ask
// of it.
type Module struct {
	Schema     Version
	Operations []Operation
}

// An Operation is one of a module.
type Operation struct {
	Name, Type string
	Rank       int  // the greatest of its results
	Dynamic    bool // a result's extents are not known
	Converts   bool // there is a conversion for it
}

// ValidateModule is _ANECValidateMPSModule: whether a module can be converted for
// the target at all.
func ValidateModule(m *Module, t *hal.Target) []*diag.Finding {
	if t.Family == hal.Virtual {
		return nil
	}
	var found []*diag.Finding
	add := func(operation string, r *diag.Finding) {
		found = append(found, r.At(diag.Refusal, diag.Place{Operation: operation}))
	}
	if r := validateSchema("module", m.Schema); r != nil {
		add("", r)
	}
	if legacy(t) {
		add("", &diag.Finding{
			ID: diag.ModuleFamily, Text: "MIL is only supported for H13+ ANE architectures", Limit: hal.A13.OrLater(), Found: t.Family.Chips(),
			Remedy: diag.AuthorDirectly + ", or choose a later target", Source: "github.com/sbryngelson/ANEForge, aneforge/_targets.py",
		})
	}
	seen := map[string]bool{}
	for _, o := range m.Operations {
		switch {
		case seen[o.Name]:
			add(o.Name, unitCollision(o.Name))
		case o.Dynamic:
			add(o.Name, &diag.Finding{
				ID: diag.ModuleDynamic, Text: "Unranked input types or dynamic shapes are not supported on ANEs", Limit: "extents that are known", Found: "unknown",
				Remedy: "compile for given extents", Source: fromStrings + "; guide 19: symbolic shapes",
			})
		case o.Rank > NumAxes:
			add(o.Name, &diag.Finding{
				ID: diag.ModuleRank, Text: fmt.Sprintf("tensor rank %d exceeds the ANE maximum of %d", o.Rank, NumAxes), Limit: fmt.Sprint(NumAxes), Found: fmt.Sprint(o.Rank),
				Remedy: "reshape to five axes or fewer", Source: "guide 4, compile-legal envelope",
			})
		case !o.Converts:
			add(o.Name, noRecord("operation", o.Name))
		}
		seen[o.Name] = true
	}
	return found
}

// ValidateModuleCreate is _ANECValidateMPSModuleCreate: the module, and if it can
// be converted the network that came of it.
func ValidateModuleCreate(m *Module, n *Network, t *hal.Target) []*diag.Finding {
	if found := ValidateModule(m, t); len(found) > 0 {
		return found
	}
	return ValidateNetwork(n, t)
}

// A WeightEdit is one change that a mutable procedure makes: other bytes for a
// constant of the network.
type WeightEdit = edit.Edit

// ValidateMutableProcedure is _ANECValidateMutableProcedureInfo: whether a
// procedure can edit weights of a network after it was compiled.
func ValidateMutableProcedure(g *Graph, edits []WeightEdit, t *hal.Target) []*diag.Finding {
	weights := map[string]edit.Weight{}
	for _, e := range edits {
		v := g.Value(e.Weight)
		if v == nil || v.Const == nil {
			continue
		}
		c := v.Const
		weights[e.Weight] = edit.Weight{
			Bytes: c.StoredBytes(), AnyForm: t.Family == hal.Virtual,
			Quantized: c.Scale != nil, Vectors: c.Palette != nil && c.Palette.Table.Shape()[NumAxes+1] > 1,
		}
	}
	return edit.Check(weights, edits)
}
