package hal

import (
	"slices"
	"strings"
	"unicode"
)

// Families and targets are the compiler's words. People know chips by the names
// under which they are sold, and this file is the one that says these.
//
//	A14.OrLater()   "M2, A15 or later"
//	A14.Chips()     "M2"
//	h13g.Chips()    "M1"

// OrLater names the chips that have a family's floor behind them: the first Mac
// chip and the first phone chip that every source puts at the family or later.
// Where sources disagree on a phone chip that is the later of the two: what is
// said holds whoever is right.
func (f Family) OrLater() string {
	first := firstOfLines(func(a *Alias) bool {
		return allReadings(a, func(t *Target) bool { return t.Family >= f && t.Family != Virtual })
	})
	return strings.Join(first, ", ") + " or later"
}

// Chips names a family by the first Mac chip and the first phone chip that every
// source gives it. Where there is none, it is what the first source says, with a
// question mark.
func (f Family) Chips() string {
	of := func(t *Target) bool { return t.Family == f }
	if sure := firstOfLines(func(a *Alias) bool { return allReadings(a, of) }); len(sure) > 0 {
		return strings.Join(sure, ", ")
	}
	likely := firstOfLines(func(a *Alias) bool { return len(a.Readings) > 0 && reads(a.Readings[0], of) })
	for i := range likely {
		likely[i] += "?"
	}
	if likely == nil {
		return f.String()
	}
	return strings.Join(likely, ", ")
}

// firstOfLines finds the first name of each line of chips, M and A, that is
// among these. The table has a line in the order in which its chips came.
func firstOfLines(among func(*Alias) bool) (names []string) {
	for _, line := range []string{"m", "a"} {
		for i := range aliases {
			if a := &aliases[i]; a.Kind == MarketingName && strings.HasPrefix(a.Name, line) && among(a) {
				names = append(names, spelled(a.Name))
				break
			}
		}
	}
	return names
}

// allReadings reports whether there are readings of a name, and all mean such a
// target.
func allReadings(a *Alias, such func(*Target) bool) bool {
	return len(a.Readings) > 0 && !slices.ContainsFunc(a.Readings, func(r Reading) bool { return !reads(r, such) })
}

func reads(r Reading, such func(*Target) bool) bool {
	i := slices.IndexFunc(targets, func(t Target) bool { return t.Name == r.Target })
	return i >= 0 && such(&targets[i])
}

// Chips is what people call a target: the names of its chips, with a question
// mark where sources disagree, or what it is made of if no chip has a name. A
// generation is called by its base chip.
func (t *Target) Chips() string {
	var settled, likely, possible []string
	for _, a := range aliases {
		i := slices.IndexFunc(a.Readings, func(r Reading) bool { return r.Target == t.Name })
		if a.Kind != MarketingName || i < 0 {
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
	base := t.Stands()
	switch {
	case settled != nil:
		return shortened(settled)
	case likely != nil:
		return shortened(likely)
	case base != nil:
		return base.Chips()
	case possible != nil:
		return shortened(possible)
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
