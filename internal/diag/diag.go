// Package diag has the one record of what the author of a model should know: a
// Finding. A validator makes it, the compiler adds the place in the model, check
// shows it. It is an error too: errors.AsType[*diag.Finding](err).
//
//	validator  &Finding{ID: ConvKernelRange, Text: …, Limit: "[1, 13]", Found: "15"}
//	compiler   .At(Fallback, Place{Operation: "conv_3", Line: 12})
//	check      fallback: conv on h13 [conv-kernel-range, decoded] …
//
// # IDs
//
// IDs stand in one table with what they mean and what usually helps: the files
// ids_*.go, of which docs/diagnostics.md is made. A new diagnostic is one row
// there, and the code that emits it names the row: diag.ConvKernelRange. Nothing
// searches texts.
//
// # Declining
//
// Where one of several ways to do a thing is tried, most tries end in a no. That
// no is a *Reason: it costs little, for nothing is formatted until somebody asks,
// and it says what stands in the way.
//
//	func asTable(l *anec.Layer) (*units.Op, *diag.Reason) {
//		if n := width(l); n > 7 {
//			return nil, diag.Decline(diag.NoTask, "a kernel of %d along the width", n).In("KernelCfg.Width").Measure(7, n)
//		}
//		…
//	}
//
// Such a function returns *Reason and not error: nil is yes.
//
// This package knows no chip, no layer and no model; packages that do fill the
// fields.
package diag

// A Finding is something that the author of a model should know.
type Finding struct {
	ID       ID
	Severity Severity
	Place    Place

	Text         string // in the words of the engine's compiler where they are known
	Limit, Found string // what the target allows and what is there; "" if it is not about that
	Remedy       string // what to write instead

	Confidence Confidence // 0: that of the ID's row
	Source     string     // by title
	Against    string     // of a disputed one: what the other side says, and its source
}

// A Place is where in the user's model a finding is. What is not known is zero.
type Place struct {
	File     string
	Function string

	// Operation is the name that it has in the model. A layer that was fused of
	// several has the first.
	Operation string
	Line      int   // of the operation in a text
	Offset    int64 // of the operation in a binary model

	Layer string // the native layer or unit, where it is about one
}

// At is the finding at a place, as grave as it is there. What it does not say
// about itself its ID's row does.
func (f Finding) At(s Severity, p Place) *Finding {
	f.Severity, f.Place = s, p
	return f.filled()
}

// filled has the fields that the row gives where the finding has none.
func (f Finding) filled() *Finding {
	row := f.ID.Row()
	if f.Severity == 0 {
		f.Severity = row.Severity
	}
	if f.Confidence == 0 {
		f.Confidence = row.Confidence
	}
	return &f
}

// Effect is what a hazard does.
func (f *Finding) Effect() Effect {
	if f.Severity != Hazard {
		return 0
	}
	return f.ID.Row().Effect
}

// A Severity says what a finding means for the model.
type Severity uint8

// The severities, the gravest first.
const (
	Refusal  Severity = iota + 1 // the engine's compiler refuses the network as a whole
	Fallback                     // the operation runs on the host
	Hazard                       // it runs on the engine, and numbers or time may suffer
	Note                         // it runs on the engine by other means than its own, or the finding is about the report
)

func (s Severity) String() string {
	return [...]string{"", "refusal", "fallback", "hazard", "note"}[s]
}

// MarshalText writes the word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Confidence is how a finding is known.
type Confidence uint8

// The confidences, the surest last.
const (
	Disputed  Confidence = iota + 1 // sources disagree
	Predicted                       // follows by a rule
	Decoded                         // read from the engine's compiler, or from files that it wrote
	Measured                        // seen on the chip
)

func (c Confidence) String() string {
	return [...]string{"", "disputed", "predicted", "decoded", "measured"}[c]
}

// MarshalText writes the word.
func (c Confidence) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// An Effect is what a hazard does.
type Effect uint8

// The effects, the gravest first.
const (
	WrongNumbers Effect = iota + 1 // results may be infinite or inexact
	LostTime                       // results are right and come late
)

func (e Effect) String() string { return [...]string{"", "numbers", "time"}[e] }
