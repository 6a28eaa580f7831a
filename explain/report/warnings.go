package report

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/diag"
)

// Warnings are what a reader says of a model, a line each: the place, what it is, what to write instead and the ID.
func Warnings(list []*diag.Finding) (lines []string) {
	for _, f := range list {
		line := f.Error()
		if f.Remedy != "" {
			line += ". Instead: " + f.Remedy
		}
		lines = append(lines, Printable(fmt.Sprintf("%s [%s]", line, f.ID)))
	}
	return lines
}
