package diag

// An ID names what a finding is about: which gate, hazard or rule. It is stable:
// people silence and search by it.
type ID string

// A Row is what is known of an ID, whatever the model.
type Row struct {
	ID         ID
	Group      Group
	Severity   Severity   // what it usually is
	Confidence Confidence // what a finding has that does not say
	Effect     Effect     // of a hazard

	Title string // in a line
	Doc   string // in two or three sentences
	Helps string // what usually helps, "" if there is nothing to do
}

// A Group is a kind of diagnostics.
type Group uint8

// The groups, in the order of the page.
const (
	Placement Group = iota
	Networks
	Lists
	Layers
	Generation
	Encoding
	Hazards
)

func (g Group) String() string {
	return [...]string{"Placement", "Networks", "Network descriptions", "Layers", "Code generation", "Encoding", "Hazards"}[g]
}

var (
	table []*Row // in the order of the groups, then of the files
	byID  = map[ID]*Row{}
)

// Rows returns the table. It is shared: do not write to it.
func Rows() []*Row { return table }

// Row is the row of an ID. One that stands in no table has an empty one.
func (id ID) Row() *Row {
	if r := byID[id]; r != nil {
		return r
	}
	return &Row{ID: id}
}

// row adds to the table. The variables of the files ids_*.go are initialized
// with it, so that a diagnostic is one row and no more.
func row(r Row) ID {
	table = append(table, &r)
	byID[r.ID] = &r
	return r.ID
}

// place is about where an operation runs, before and beside the validators.
func place(id ID, c Confidence, title, doc, helps string) ID {
	return row(Row{id, Placement, Fallback, c, 0, title, doc, helps})
}

// note is about something that is well, and that one might wonder at.
func note(id ID, c Confidence, title, doc, helps string) ID {
	return row(Row{id, Placement, Note, c, 0, title, doc, helps})
}

// gate is one of a validator of a layer.
func gate(id ID, title, doc, helps string) ID {
	return row(Row{id, Layers, Fallback, Decoded, 0, title, doc, helps})
}

// inferred is a gate that is known by half: that it is there, and not for what.
func inferred(id ID, title, doc, helps string) ID {
	return row(Row{id, Layers, Fallback, Predicted, 0, title, doc, helps})
}

// network is a gate of a validator of whole networks.
func network(id ID, title, doc, helps string) ID {
	return row(Row{id, Networks, Refusal, Decoded, 0, title, doc, helps})
}

// listing is about what stands in a network description.
func listing(id ID, s Severity, title, doc, helps string) ID {
	return row(Row{id, Lists, s, Decoded, 0, title, doc, helps})
}

// codegen is about a layer that passes its validator and fails later.
func codegen(id ID, title, doc, helps string) ID {
	return row(Row{id, Generation, Fallback, Measured, 0, title, doc, helps})
}

// encode is about a layer that the engine runs, and not in the chip's own
// encoding.
func encode(id ID, c Confidence, title, doc, helps string) ID {
	return row(Row{id, Encoding, Note, c, 0, title, doc, helps})
}

// hazard is about a layer that the engine takes.
func hazard(id ID, s Severity, e Effect, c Confidence, title, doc, helps string) ID {
	return row(Row{id, Hazards, s, c, e, title, doc, helps})
}
