package hal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/diag"
)

// An Alias is a name that people or devices use for a chip. A chip's marketing
// name is one thing, the compiler's name of a family another: `a14` is the chip
// sold as A14, `family:A14` is the compiler's family A14, which H14 and the M2
// have.
type Alias struct {
	Name     string // Resolve takes it in any case, with and without spaces
	Kind     AliasKind
	Readings []Reading // one: settled; more: sources disagree, and the first is taken
}

// A Reading is what a source says an alias means.
type Reading struct {
	Target string // "" where the source's target is none of ours
	Status Status // Measured: a device told
	Source string
}

// AliasKind says what a name is a name of.
type AliasKind uint8

// The kinds.
const (
	MarketingName   AliasKind = iota // of a chip
	ProductName                      // of a device, by its chip
	ModelIdentifier                  // that a device tells, by its chip
	PartNumber                       // of a system on a chip
	FamilyName                       // of the compiler's
)

func (k AliasKind) String() string {
	return [...]string{"chip", "device", "model", "part", "family"}[k]
}

// short reports whether there are few names of the kind, and they are listed with
// their target.
func (k AliasKind) short() bool { return k != ProductName && k != ModelIdentifier }

// aliases is the table of all names; aliasNamed finds a plain one in it.
var (
	aliases    = slices.Concat(chips, deviceAliases(), families)
	aliasNamed = aliasIndex()
)

func aliasIndex() map[string]*Alias {
	index := make(map[string]*Alias, len(aliases))
	for i := range aliases {
		index[plainName(aliases[i].Name)] = &aliases[i]
	}
	return index
}

// Aliases returns the table.
func Aliases() []Alias { return aliases }

// A Choice is what a name was taken for.
type Choice struct {
	Name   string // as it was given
	Target *Target
	Alias  *Alias // nil: it is the target's own name
}

// Resolve finds a target by its name or an alias, whatever the case, and whatever
// spaces, dashes and brackets it has. Where sources disagree on an alias, it takes
// the first reading.
func Resolve(name string) (Choice, error) {
	plain := plainName(name)
	for i := range targets {
		if targets[i].Name == plain {
			return Choice{name, &targets[i], nil}, nil
		}
	}
	if a := aliasNamed[plain]; a != nil {
		return Choice{name, rowNamed(a.Readings[0].Target), a}, nil
	}
	near := nearNames(plain)
	if len(near) == 0 {
		return Choice{}, fmt.Errorf("no target %q; espalier targets lists them", name)
	}
	return Choice{}, fmt.Errorf("no target %q; did you mean %s?", name, strings.Join(near, ", "))
}

// Lookup is the target that Resolve takes a name for.
func Lookup(name string) (*Target, error) {
	c, err := Resolve(name)
	return c.Target, err
}

// Disputed reports whether sources disagree on the name.
func (c Choice) Disputed() bool { return c.Alias != nil && len(c.Alias.Readings) > 1 }

// Targets are those of all readings, the one that is taken first.
func (c Choice) Targets() []*Target {
	if !c.Disputed() {
		return []*Target{c.Target}
	}
	var all []*Target
	for _, r := range c.Alias.Readings {
		if r.Target != "" {
			all = append(all, rowNamed(r.Target))
		}
	}
	return all
}

// Readings tells what each source says; "" of a name on which they agree.
//
//	h13p (coreml_to_ane_hwx, subtype table), or h14 (guide 34, full set)
func (c Choice) Readings() string {
	if !c.Disputed() {
		return ""
	}
	var parts []string
	for _, r := range c.Alias.Readings {
		target := r.Target
		if target == "" {
			target = "none of the targets"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", target, r.Source))
	}
	return strings.Join(parts, ", or ")
}

// Note says which target was taken where sources disagree on the name; else it is
// "".
func (c Choice) Note() string {
	if !c.Disputed() {
		return ""
	}
	return fmt.Sprintf("%q is taken for %s; sources disagree: %s", c.Name, c.Target.Name, c.Readings())
}

// inches is the size of a screen in a device's name; betweenWords is what a name may or may not have.
var (
	inches       = regexp.MustCompile(`[0-9]+(\.[0-9]+)?inch`)
	betweenWords = strings.NewReplacer(" ", "", "-", "", "_", "", "(", "", ")", "")
)

// plainName is a name as the index has it: "iPad Pro 11-inch (M4)" is ipadprom4,
// and "Apple M4 Max", as the system says, m4max.
func plainName(name string) string {
	plain := betweenWords.Replace(strings.ToLower(name))
	if strings.Contains(plain, "inch") {
		plain = inches.ReplaceAllString(plain, "")
	}
	return strings.TrimPrefix(plain, "apple")
}

// CutName takes the first name from a list with commas. A number after a comma
// belongs to the name before: model identifiers have commas themselves.
//
//	iPhone17,1,m4  →  iPhone17,1 and m4
func CutName(list string) (name, rest string, more bool) {
	name, rest, more = strings.Cut(list, ",")
	for more {
		number, after, further := strings.Cut(rest, ",")
		if n := strings.TrimSpace(number); n == "" || strings.Trim(n, "0123456789") != "" {
			break
		}
		name, rest, more = name+","+number, after, further
	}
	return name, rest, more
}

// ParseChoices reads names of targets with commas between them, in the order in
// which they stand. `all` are all of Apple's.
func ParseChoices(list string) ([]Choice, error) {
	var found []Choice
	for rest, more := list, true; more; {
		var name string
		name, rest, more = CutName(rest)
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, fmt.Errorf("%q names a target that is empty", list)
		case plainName(name) == "all":
			for _, t := range Targets()[1:] {
				found = append(found, Choice{Name: t.Name, Target: t})
			}
		default:
			c, err := Resolve(name)
			if err != nil {
				return nil, err
			}
			found = append(found, c)
		}
	}
	return found, nil
}

// AllReadings are the targets of all readings of the names, each once.
func AllReadings(names []Choice) []*Target {
	var found []*Target
	for _, c := range names {
		for _, t := range c.Targets() {
			if !slices.Contains(found, t) {
				found = append(found, t)
			}
		}
	}
	return found
}

// ParseList reads names with commas between them as the targets of all their
// readings.
func ParseList(list string) ([]*Target, error) {
	names, err := ParseChoices(list)
	return AllReadings(names), err
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
		consider(a.Name)
	}
	return near
}
