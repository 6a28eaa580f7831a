package diag

import (
	"errors"
	"fmt"
)

// A Reason is why a rule declines a layer. See the package's comment.
type Reason struct {
	ID           ID
	Field        string // the register or field that stands in the way, "" if it is none
	Limit, Found string // what the field takes and what the layer has

	format string
	args   []any
}

// Decline is a reason. The text is formatted when somebody reads it: arguments
// must not change after.
func Decline(id ID, format string, args ...any) *Reason {
	return &Reason{ID: id, format: format, args: args}
}

// In names the register or field that stands in the way.
func (r *Reason) In(field string) *Reason {
	copied := *r
	copied.Field = field
	return &copied
}

// Measure has what the field takes and what the layer has.
func (r *Reason) Measure(limit, found any) *Reason {
	copied := *r
	copied.Limit, copied.Found = fmt.Sprint(limit), fmt.Sprint(found)
	return &copied
}

// Text is the reason in words.
func (r *Reason) Text() string { return fmt.Sprintf(r.format, r.args...) }

// Error is the reason in a line: the field, the text, the limit and what was
// found.
func (r *Reason) Error() string {
	return prefixed(r.Field, r.Text()+measured(r.Limit, r.Found))
}

// Finding is the reason as a finding. The field is part of its text.
func (r *Reason) Finding() *Finding {
	return Finding{ID: r.ID, Text: prefixed(r.Field, r.Text()), Limit: r.Limit, Found: r.Found}.filled()
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
