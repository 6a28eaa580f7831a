package diag

import (
	"fmt"
	"strings"
)

// What people read is made here of the fields.

// Error is the finding in a line: the place, the text, the limit and what was
// found.
func (f *Finding) Error() string {
	return prefixed(f.Place.String(), f.Text+measured(f.Limit, f.Found))
}

// String is the place by what is known of it: main, operation "y" (line 12).
func (p Place) String() string {
	var parts []string
	add := func(format, text string) {
		if text != "" {
			parts = append(parts, fmt.Sprintf(format, text))
		}
	}
	add("%s", p.File)
	add("function %q", p.Function)
	switch {
	case p.Operation != "" && p.Line > 0:
		parts = append(parts, fmt.Sprintf("operation %q (line %d)", p.Operation, p.Line))
	case p.Operation != "" && p.Offset > 0:
		parts = append(parts, fmt.Sprintf("operation %q (byte %d)", p.Operation, p.Offset))
	default:
		add("operation %q", p.Operation)
	}
	if p.Layer != p.Operation {
		add("layer %q", p.Layer)
	}
	return strings.Join(parts, ", ")
}

func prefixed(place, text string) string {
	if place == "" {
		return text
	}
	return place + ": " + text
}

// measured says what the limit is and what was found; "" if nothing was.
func measured(limit, found string) string {
	switch {
	case found == "":
		return ""
	case limit == "":
		return fmt.Sprintf(" (found %s)", found)
	}
	return fmt.Sprintf(" (limit %s, found %s)", limit, found)
}
