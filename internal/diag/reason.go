package diag

import (
	"errors"
	"fmt"
	"slices"
)

// A Reason is why a rule declines a layer. See the package's comment.
type Reason struct {
	ID    ID
	Field string // the register or field that stands in the way, "" if it is none

	limit, found any // what the field takes and what the layer has; nil: it is not about that
	format       string
	args         []any
	before       []any // what stands before it all, joined as by Sprint
}

// Decline is a reason. The text is formatted when somebody reads it: arguments
// must not change after.
func Decline(id ID, format string, args ...any) *Reason {
	return &Reason{ID: id, format: format, args: args}
}

// Of says what the reason is about, by name: the text is what is to be said of
// it.
//
//	Decline(id, "is of %v", t).Of("x")     "x" is of fp32
func (r *Reason) Of(name string) *Reason {
	copied := *r
	copied.format, copied.args = "%q "+r.format, append([]any{name}, r.args...)
	return &copied
}

// In names the register or field that stands in the way.
func (r *Reason) In(field string) *Reason {
	copied := *r
	copied.Field = field
	return &copied
}

// Measure has what the field takes and what the layer has. They are formatted
// when somebody reads them, as the arguments are.
func (r *Reason) Measure(limit, found any) *Reason {
	copied := *r
	copied.limit, copied.found = limit, found
	return &copied
}

// Limit is what the field takes, and Found what the layer has; "" if the reason
// is not about that.
func (r *Reason) Limit() string { return shown(r.limit) }
func (r *Reason) Found() string { return shown(r.found) }

func shown(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// After puts words before the reason: what it is a part of, or what was tried
// first. The record stays. They are joined as by fmt.Sprint, when somebody reads
// them.
func (r *Reason) After(words ...any) *Reason {
	copied := *r
	copied.before = slices.Concat(words, r.before)
	return &copied
}

// Text is the reason in words.
func (r *Reason) Text() string { return fmt.Sprint(r.before...) + r.text() }

func (r *Reason) text() string { return fmt.Sprintf(r.format, r.args...) }

// Error is the reason in a line: the field, the text, the limit and what was
// found.
func (r *Reason) Error() string {
	return fmt.Sprint(r.before...) + prefixed(r.Field, r.text()+measured(r.Limit(), r.Found()))
}

// Finding is the reason as a finding. The field is part of its text.
func (r *Reason) Finding() *Finding {
	return Finding{ID: r.ID, Text: fmt.Sprint(r.before...) + prefixed(r.Field, r.text()), Limit: r.Limit(), Found: r.Found()}.filled()
}

// FindingOf is what an error says as a finding. One that is a finding or a reason
// keeps its fields; one that wraps such keeps the ID and has its own text; any
// other has the ID that is given.
func FindingOf(err error, id ID) *Finding {
	switch known := err.(type) {
	case *Finding:
		return known
	case *Reason:
		return known.Finding()
	}
	if inner, ok := errors.AsType[*Reason](err); ok {
		id = inner.ID
	} else if inner, ok := errors.AsType[*Finding](err); ok {
		id = inner.ID
	}
	return Finding{ID: id, Text: err.Error()}.filled()
}
