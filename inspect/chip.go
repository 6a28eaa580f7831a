package inspect

import (
	"slices"
	"strings"
	"unicode"

	"github.com/espalier-ane/espalier/hal"
)

// chipName is what people call a target: the names of its chips, with a question mark where sources disagree, or what it
// is made of if no chip has a name.
func chipName(t *hal.Target) string {
	var settled, likely, possible []string
	for _, a := range hal.Aliases() {
		i := slices.IndexFunc(a.Readings, func(r hal.Reading) bool { return r.Target == t.Name })
		if a.Kind != hal.MarketingName || i < 0 {
			continue
		}
		switch name := spelled(a.Name); {
		case len(a.Readings) == 1:
			settled = append(settled, name)
		case i == 0:
			likely = append(likely, name+"?")
		default:
			possible = append(possible, name+"?")
		}
	}
	for _, names := range [][]string{settled, likely, possible} {
		if len(names) > 0 {
			return shortened(names)
		}
	}
	return t.Silicon
}

// shortened writes the generation once: M1 Pro, Max, Ultra.
func shortened(names []string) string {
	first, _, variant := strings.Cut(names[0], " ")
	list := []string{names[0]}
	for _, n := range names[1:] {
		if rest, ok := strings.CutPrefix(n, first+" "); ok && variant {
			n = rest
		}
		list = append(list, n)
	}
	return strings.Join(list, ", ")
}

// spelled is a chip's name as it is sold: m1pro is M1 Pro.
func spelled(alias string) string {
	end := strings.LastIndexFunc(alias, unicode.IsDigit) + 1
	name := strings.ToUpper(alias[:end])
	if rest := alias[end:]; rest != "" {
		name += " " + strings.ToUpper(rest[:1]) + rest[1:]
	}
	return name
}
