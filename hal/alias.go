package hal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/diag"
)

// An Alias is a name that people use for a chip. A chip's marketing name is one
// thing, the compiler's name of a family another: `a14` is the chip sold as A14,
// `family:A14` is the compiler's family A14, which H14 and the M2 have.
type Alias struct {
	Name     string // without spaces; Lookup takes it in any case
	Kind     AliasKind
	Readings []Reading // one: settled; more: sources disagree; none: no source tells
}

// A Reading is what a source says an alias means.
type Reading struct {
	Target string // "" where the source's target is none of ours
	Source string
}

// AliasKind says what a name is a name of.
type AliasKind uint8

// The kinds.
const (
	MarketingName AliasKind = iota // of a chip
	ProductName                    // of a device, by its chip
	PartNumber                     // of a system on a chip
	FamilyName                     // of the compiler's
)

func (k AliasKind) String() string {
	return [...]string{"chip", "device", "part", "family"}[k]
}

const (
	resolver34 = "guide 34, silicon to target"
	fullSet34  = "guide 34, full set"
	hwxGuide   = "coreml_to_ane_hwx, subtype table"
	devices    = "neural-engine, supported devices"
	tiers34    = "guide 34, capability tiers; guide 35, family enumeration"
)

func settled(target, source string) []Reading { return []Reading{{target, source}} }

// phone has the two readings of a phone's chip: the guide gives the chip the
// target of its own number, coreml_to_ane_hwx the one before.
func phone(guide, other string) []Reading {
	return []Reading{{guide, fullSet34}, {other, hwxGuide}}
}

// device has the readings of a device through those of its chip.
func device(chip string, r []Reading) []Reading {
	var all []Reading
	for _, reading := range r {
		all = append(all, Reading{reading.Target, chip + " by " + devices + "; " + reading.Source})
	}
	return all
}

var (
	a12 = phone("h12", "h11")
	a13 = phone("h13", "h12")
	a14 = phone("h14", "h13")
	a15 = phone("h15", "h14")
	a16 = phone("h16", "h15")
	a17 = phone("h17", "h16")
	a18 = phone("h18", "h17")
	a11 = []Reading{{"h11", "guide 35, A11Legacy"}, {"", hwxGuide + ": H11 is the A12; of the A11 it has nothing"}}
	m5s = []Reading{{"h17", resolver34 + " and " + fullSet34 + "; " + hwxGuide}, {"h17s", "guide 12, family map, and guide 18: the M5 that was measured, which guide F calls an M5 Pro"}}
)

// aliases is the table.
var aliases = []Alias{
	{"m1", MarketingName, settled("h13", resolver34+"; "+hwxGuide)},
	{"m1pro", MarketingName, settled("h13g", resolver34)},
	{"m1max", MarketingName, settled("h13g", resolver34+", read on the chip")},
	{"m1ultra", MarketingName, settled("h13g", resolver34)},
	{"m2", MarketingName, settled("h14", resolver34+"; "+hwxGuide)},
	{"m2pro", MarketingName, settled("h14g", resolver34+"; guide F, read on the chip")},
	{"m2max", MarketingName, settled("h14g", resolver34)},
	{"m2ultra", MarketingName, nil},
	{"m3", MarketingName, settled("h15", resolver34+"; "+hwxGuide)},
	{"m3pro", MarketingName, settled("h15g", resolver34)},
	{"m3max", MarketingName, settled("h15g", resolver34)},
	{"m3ultra", MarketingName, nil},
	{"m4", MarketingName, settled("h16", resolver34+"; "+hwxGuide)},
	{"m4pro", MarketingName, settled("h16g", resolver34)},
	{"m4max", MarketingName, settled("h16g", resolver34)},
	{"m5", MarketingName, m5s},
	{"m5pro", MarketingName, settled("h17s", resolver34+", read on the chip; "+fullSet34+" has H17g")},
	{"m5max", MarketingName, []Reading{{"h17s", resolver34}, {"h17g", fullSet34}}},

	{"a11", MarketingName, a11},
	{"a12", MarketingName, a12},
	{"a13", MarketingName, a13},
	{"a14", MarketingName, a14},
	{"a15", MarketingName, a15},
	{"a16", MarketingName, a16},
	{"a17pro", MarketingName, a17},
	{"a18", MarketingName, a18},
	{"a18pro", MarketingName, a18},
	{"a19", MarketingName, settled("h18", "guide 35, cross-compiled programs; "+hwxGuide)},
	{"a19pro", MarketingName, settled("h18", hwxGuide)},

	{"iphone8", ProductName, device("A11", a11)},
	{"iphone8plus", ProductName, device("A11", a11)},
	{"iphonex", ProductName, device("A11", a11)},
	{"iphonexr", ProductName, device("A12", a12)},
	{"iphonexs", ProductName, device("A12", a12)},
	{"iphonexsmax", ProductName, device("A12", a12)},
	{"iphone11", ProductName, device("A13", a13)},
	{"iphone11pro", ProductName, device("A13", a13)},
	{"iphone11promax", ProductName, device("A13", a13)},
	{"iphone12", ProductName, device("A14", a14)},
	{"iphone12mini", ProductName, device("A14", a14)},
	{"iphone12pro", ProductName, device("A14", a14)},
	{"iphone12promax", ProductName, device("A14", a14)},
	{"iphone13", ProductName, device("A15", a15)},
	{"iphone13mini", ProductName, device("A15", a15)},
	{"iphone13pro", ProductName, device("A15", a15)},
	{"iphone13promax", ProductName, device("A15", a15)},
	{"iphone14", ProductName, device("A15", a15)},
	{"iphone14plus", ProductName, device("A15", a15)},
	{"iphone14pro", ProductName, device("A16", a16)},
	{"iphone14promax", ProductName, device("A16", a16)},
	{"iphone15", ProductName, device("A16", a16)},
	{"iphone15plus", ProductName, device("A16", a16)},
	{"iphone15pro", ProductName, device("A17 Pro", a17)},
	{"iphone15promax", ProductName, device("A17 Pro", a17)},
	{"iphone16", ProductName, device("A18", a18)},
	{"iphone16plus", ProductName, device("A18", a18)},
	{"iphone16pro", ProductName, device("A18 Pro", a18)},
	{"iphone16promax", ProductName, device("A18 Pro", a18)},

	{"t8103", PartNumber, settled("h13", resolver34)},
	{"t6000", PartNumber, settled("h13g", resolver34+": T600x")},
	{"t6001", PartNumber, settled("h13g", resolver34+": T600x")},
	{"t6002", PartNumber, settled("h13g", resolver34+": T600x")},
	{"t8112", PartNumber, settled("h14", resolver34)},
	{"t6020", PartNumber, settled("h14g", resolver34+": T602x")},
	{"t6021", PartNumber, settled("h14g", resolver34+": T602x")},
	{"t8122", PartNumber, settled("h15", resolver34)},
	{"t6030", PartNumber, settled("h15g", resolver34+": T603x")},
	{"t6031", PartNumber, settled("h15g", resolver34+": T603x")},
	{"t8132", PartNumber, settled("h16", resolver34)},
	{"t6040", PartNumber, settled("h16g", resolver34+": T604x")},
	{"t6041", PartNumber, settled("h16g", resolver34+": T604x")},
	{"t8142", PartNumber, settled("h17", resolver34)},
	{"t6050", PartNumber, settled("h17s", resolver34+": T605x")},

	{"family:A11Legacy", FamilyName, settled("h11", tiers34)},
	{"family:A12", FamilyName, settled("h12", tiers34)},
	{"family:A13", FamilyName, settled("h13", tiers34)},
	{"family:A14", FamilyName, settled("h14", tiers34)},
	{"family:A15", FamilyName, settled("h15", tiers34)},
	{"family:A16", FamilyName, settled("h16", tiers34)},
	{"family:A17", FamilyName, settled("h17", tiers34)},
	{"family:A18", FamilyName, settled("h18", tiers34)},
}

// Aliases returns the table.
func Aliases() []Alias { return aliases }

// An AliasError says of a name why it stands for no target.
type AliasError struct {
	Name     string
	Readings []Reading
}

func (e *AliasError) Error() string {
	if len(e.Readings) == 0 {
		return fmt.Sprintf("no source says which target %q is; name the target itself", e.Name)
	}
	var parts, names []string
	for _, r := range e.Readings {
		if r.Target == "" {
			parts = append(parts, "none of the targets ("+r.Source+")")
			continue
		}
		parts = append(parts, r.Target+" ("+r.Source+")")
		names = append(names, r.Target)
	}
	return fmt.Sprintf("sources disagree on which target %q is: %s; name the target itself: %s", e.Name, strings.Join(parts, ", or "), strings.Join(names, " or "))
}

// Lookup finds a target by its name or an alias, whatever the case, and whatever
// spaces and dashes it has. An alias that is not settled is an *AliasError.
func Lookup(name string) (*Target, error) {
	plain := plainName(name)
	for i := range targets {
		if targets[i].Name == plain {
			return &targets[i], nil
		}
	}
	for _, a := range aliases {
		if plainName(a.Name) != plain {
			continue
		}
		if len(a.Readings) != 1 {
			return nil, &AliasError{name, a.Readings}
		}
		return Lookup(a.Readings[0].Target)
	}
	near := nearNames(plain)
	if len(near) == 0 {
		return nil, fmt.Errorf("no target %q; espalier targets lists them", name)
	}
	return nil, fmt.Errorf("no target %q; did you mean %s?", name, strings.Join(near, ", "))
}

func plainName(name string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(name))
}

// ParseList reads targets with commas between them, each once, in the order in
// which they stand. `all` are all 28 of Apple's.
func ParseList(list string) ([]*Target, error) {
	var found []*Target
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, fmt.Errorf("%q names a target that is empty", list)
		}
		these := Targets()[1:]
		if plainName(name) != "all" {
			t, err := Lookup(name)
			if err != nil {
				return nil, err
			}
			these = []*Target{t}
		}
		for _, t := range these {
			if !slices.Contains(found, t) {
				found = append(found, t)
			}
		}
	}
	return found, nil
}

// nearNames are the names of targets and chips that differ least from one that
// is unknown: by two letters at most, and no more than four of them.
func nearNames(name string) []string {
	var near []string
	best := min(2, len(name)-1)
	consider := func(candidate string) {
		switch d := diag.Distance(name, plainName(candidate)); {
		case d < best:
			best, near = d, []string{candidate}
		case d == best && len(near) < 4:
			near = append(near, candidate)
		}
	}
	for i := range targets {
		consider(targets[i].Name)
	}
	for _, a := range aliases {
		if len(a.Readings) == 1 {
			consider(a.Name)
		}
	}
	return near
}
