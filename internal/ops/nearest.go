package ops

import (
	"strings"

	"github.com/espalier-ane/espalier/internal/diag"
)

// didYouMean returns "; did you mean X?" for the known name nearest to an unknown one, or "" if none is near.
func didYouMean(name string, known []string) string {
	best, bestDist := "", len(name)/2+1
	for _, k := range known {
		if d := diag.Distance(short(strings.ToLower(name)), short(strings.ToLower(k))); d < bestDist {
			best, bestDist = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// short is the beginning of a name: those in a hostile file may be long.
func short(name string) string { return name[:min(len(name), 64)] }
