package hal

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestDocs keeps docs/targets.md in step with the tables.
func TestDocs(t *testing.T) {
	testkit.Golden(t, filepath.Join("..", "docs", "targets.md"), targetsPage())
}

// TestNumericsDocs keeps docs/numerics.md in step with the rules.
func TestNumericsDocs(t *testing.T) {
	testkit.Golden(t, filepath.Join("..", "docs", "numerics.md"), numericsPage())
}

// page is Markdown.
type page struct{ bytes.Buffer }

func (p *page) text(format string, args ...any) { fmt.Fprintf(p, format+"\n\n", args...) }

// row writes a row of a table. Bars in cells are escaped.
func (p *page) row(cells ...string) {
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	fmt.Fprintf(p, "| %s |\n", strings.Join(cells, " | "))
}

func (p *page) head(cells ...string) {
	p.row(cells...)
	fmt.Fprintf(p, "|%s\n", strings.Repeat("---|", len(cells)))
}

// tierColumns are the targets that stand for their tiers in the tables.
var tierColumns = []struct{ head, target string }{
	{"before A13", "h12"}, {"A13", "h13"}, {"A14", "h14"}, {"A15", "h15"}, {"A16", "h16"}, {"A17", "h17"}, {"A18", "h18"}, {"M11", "m11"}, {"U1 to U3", "u2"},
}

func targetsPage() []byte {
	var p page
	p.text("# Targets")
	p.text("The %d targets of Apple's compilers, and ours. This page is made from the tables in `hal`:\nafter a change there, run `go test ./hal -run TestDocs -update`. `espalier targets NAME` shows one target with the source of each value.", len(Targets())-1)
	p.text(`Sources: *guide* is the ane-guide by its chapters and appendices; *h13* the fact sheet checked on real programs; *coreai* the one of what machines told and people measured in 2026; *oracles* the recorded programs
of mil-hwx-compiler; *coreml_to_ane_hwx* and *neural-engine* the public repositories of freedomtan and hollance.`)
	p.text(`A value is *measured* (seen on the chip), *decoded* (read from the compiler's tables, or from files that it wrote) or *predicted* (follows by a rule from another
target's value, or the source says itself that it predicts). ? is what no source has.`)

	p.text("## The targets")
	var tables int
	for _, t := range Targets()[1:] {
		if t.row.like == "" {
			tables++
		}
	}
	p.text("What devices print, and what Apple's compiler takes today, has a suffix: p phone, g base, s Pro, c Max, d Ultra. A bare name (`h13`) is ours, for a generation: it stands for its base chip, with the same limits, encoders, numerics and anchors.")
	p.text("The guide has the tables of %d targets. The other %d are predicted as a whole from the one that *Like* names.", tables, len(Targets())-1-tables)
	p.text("Cores are the compiler's own count (`num_nes`), per die; Apple advertises other numbers. Names are those of chips, parts and families that are taken for this target; * marks a chip that is predicted to be it, ? one on which sources disagree.")
	p.head("Target", "Family", "Silicon", "Cores", "Subtype", "Task version", "Like", "Names")
	for _, t := range Targets() {
		subtype, version := "?", "?"
		if t.CPUSubtype != 0 {
			subtype = fmt.Sprintf("%#x", t.CPUSubtype)
		}
		if t.TaskVersion != 0 {
			version = fmt.Sprint(t.TaskVersion)
		}
		var names []string
		for _, name := range t.Aliases {
			mark := ""
			switch a := aliasNamed[plainName(name)]; {
			case len(a.Readings) > 1:
				mark = "?"
			case a.Readings[0].Status == Predicted:
				mark = `\*`
			}
			names = append(names, "`"+name+"`"+mark)
		}
		p.row("`"+t.Name+"`", t.Family.String()+predicted(t.row.familyStatus), t.Silicon, fmt.Sprint(t.Cores)+predicted(t.row.coresStatus), subtype, version, t.row.like, strings.Join(names, " "))
	}
	p.text("\n\\* predicted")

	p.text("## Limits")
	p.text("By tier. What differs within a tier follows the table. Offsets are those of the compiler's own table of a target (`ZinIrHalParameters`). M11 is predicted from A16 but for its exceptions, the reference targets U1 to U3 have no limit where no source has one.")
	head := []string{"Limit", "Offset"}
	for _, c := range tierColumns {
		head = append(head, c.head)
	}
	p.head(append(head, "Source")...)
	for i := range scalars {
		s := &scalars[i]
		cells := []string{"`" + s.name + "`", s.offset}
		for _, c := range tierColumns {
			cells = append(cells, cellOf(c.target, s.name))
		}
		p.row(append(cells, s.source)...)
	}
	factors := []string{"`stride_factors`", "0x730 to 0x750"}
	for range tierColumns {
		factors = append(factors, joinInts(strideFactors))
	}
	p.row(append(factors, strideFactorsSource)...)
	p.text("")
	for _, e := range exceptions {
		value := "as the tier"
		if e.value != tierValue {
			value = fmt.Sprint(e.value)
		}
		fmt.Fprintf(&p, "- %s: %s %s, %v (%s)\n", strings.Join(e.targets, ", "), strings.Join(e.scalars, ", "), value, e.status, e.source)
	}

	p.text("\n## Two routes")
	p.text(twoRoutes)
	p.text("\n## Capability bytes")
	p.text("A byte switches one operation or format on the direct-authoring route. The compiler has about 165; these are the ones that the sources tell of. *y* and *n* are predicted.")
	head = []string{"Byte", "Name", "Switches"}
	for _, c := range tierColumns {
		head = append(head, c.head)
	}
	p.head(append(head, "Source")...)
	for i := range capabilities {
		c := &capabilities[i]
		cells := []string{"`" + c.Byte.String() + "`", c.Name, c.Gates}
		for j := range tierColumns {
			cells = append(cells, c.tiers[j:j+1])
		}
		p.row(append(cells, c.Source)...)
	}
	p.text("\nM9 has not 0x814, U1 has not 0x55c.")
	p.text("Fields of the same table that have a name and no known values, or that are no switches:")
	p.head("Offset", "Field", "Source")
	for _, f := range NamedFields() {
		p.row("`"+f.Offset+"`", f.Name, f.Source)
	}

	p.text("\n## Ways")
	p.text("How the compiler goes about its work, where no limit and no byte says so. Each is a field of the target; our own engine has its own.")
	p.head("Way", "virtual", "A13 and before", "A14 and later", "Known on A13", "Source")
	for i := range ways {
		w := &ways[i]
		p.row("`"+w.name+"`", yesNo(w.own), yesNo(w.a13), yesNo(w.later), w.status.String(), w.source)
	}

	p.text("\n## Residency")
	p.text("How the compiler keeps values in on-chip memory. Our own engine has none.")
	p.head("Field", "A13", "Known on A13", "Source")
	chip, err := Lookup("h13")
	if err != nil {
		panic("bug: " + err.Error())
	}
	chip.residencyValues(func(name, text string, status Status, source string) {
		p.row("`"+name+"`", text, status.String(), source)
	})

	p.text("\n## Driver")
	p.text("What the host's side of the engine keeps count of. Our own engine has as many commands in flight as there are threads, and programs and processes without a bound.")
	p.head("Field", "A13", "Known on A13", "Source")
	chip.driverValues(func(name, text string, status Status, source string) {
		p.row("`"+name+"`", text, status.String(), source)
	})

	p.text("\n## Floors")
	p.text("The family from which on an operation of the compiler's dialect is native, on the conversion route. No compute operation has a floor above A15.")
	p.head("Family", "Operations", "Status", "Source")
	for _, f := range Floors() {
		p.row(f.Family.String(), strings.Join(f.Operations, ", "), f.Status.String(), f.Source)
	}

	p.text("\n## Compressed weights")
	p.text("A form streams, and fewer bytes move; or it folds, and the weights are made dense before they move. Capitals are measured.")
	p.head("Form", "MIL operation", "Gate", "A11Legacy, A12", "A13", "A14", "A15", "A16", "A17", "A18", "Source")
	for _, f := range WeightForms() {
		cells := []string{f.Name, f.MIL, f.Gate}
		for _, c := range f.families[1:] {
			cells = append(cells, map[rune]string{'s': "streams", 'S': "STREAMS", 'f': "folds", 'F': "FOLDS"}[c])
		}
		p.row(append(cells, f.Source)...)
	}

	p.text("\n## Numerics")
	p.text("A rule that no source has for a target is off. `width-slice` is the largest magnitude that a slice with an offset along W keeps.")
	p.head("Rule", "virtual", "H13", "H14", "H15, H16", "H17s", "H18")
	for _, r := range append(Rules(), Rule{Name: widthSlice}) {
		cells := []string{"`" + r.Name + "`"}
		for _, name := range []string{"virtual", "h13", "h14", "h15", "h17s", "h18"} {
			cells = append(cells, cellOf(name, r.Name))
		}
		p.row(cells...)
	}

	p.text("\n## Cost")
	p.text("Anchors of the cost model. Those of the M1 (h13g, and its generation h13) and the M5 Pro (h17s) were fitted to the chip, the others are scaled from the one that is nearer in cores. Targets that are missing have none. The estimate is for ranking: over 68 graphs on the M1 its median error is 31 %%.")
	p.head("Target", "Peak", "Bandwidth", "Dispatch floor", "Efficiency", "Status")
	for _, t := range Targets() {
		if c := t.Cost; c != nil {
			p.row("`"+t.Name+"`", fmt.Sprintf("%.3g TFLOP/s", c.PeakFLOPS/1e12), fmt.Sprintf("%.3g GB/s", c.Bandwidth/1e9), fmt.Sprintf("%.3g ms", c.DispatchFloor*1e3), fmt.Sprintf("%.2g", c.Efficiency), c.Status.String())
		}
	}

	p.text("\n## Names that people use")
	p.text("`a14` is the chip that is sold under that name; `family:A14` is the compiler's family. Case, spaces, dashes, brackets and the size of a screen do not matter. Where sources disagree on a name the first reading is taken: commands that take one target say so, and `check` reports each.")
	p.head("Name", "Of a", "Target", "Status", "Source")
	for _, a := range slices.Concat(chips, families) {
		for i, r := range a.Readings {
			target := "`" + r.Target + "`"
			switch {
			case r.Target == "":
				target = "or none"
			case i > 0:
				target = "or " + target
			}
			p.row("`"+a.Name+"`", a.Kind.String(), target, r.Status.String(), r.Source)
		}
	}

	p.text("\n## Devices")
	p.text("A device is what its chip is.")
	p.head("Chip", "Target", "Devices", "Models", "Parts", "Source")
	for _, d := range Devices() {
		c := chipNamed(d.Chip)
		p.row(spelled(d.Chip), "`"+c.Readings[0].Target+"`", strings.Join(d.Names, ", "), strings.Join(d.Models, " "), strings.Join(d.Parts, " "), d.Source)
	}

	p.text("\n## Where sources disagree")
	p.head("On", "One says", "Another says", "Espalier goes by", "Targets")
	for _, c := range Conflicts() {
		p.row(c.Matter, c.One, c.Other, c.Choice, strings.Join(c.Targets, ", "))
	}
	return p.Bytes()
}

func predicted(s Status) string {
	if s == Predicted {
		return `\*`
	}
	return ""
}

func cellOf(target, name string) string {
	t, err := Lookup(target)
	if err != nil {
		panic("bug: " + err.Error())
	}
	for _, v := range t.Values() {
		if v.Name == name {
			return v.Text
		}
	}
	panic("bug: " + target + " has no value " + name)
}

const twoRoutes = `Work comes to a chip's compiler by one of two routes, and each has gates of its own.

- **Converted**: the operations of a model. Each operation has a first generation of chips, its floor. Below the floor the converter leaves it to the host.
  Then the layers that it becomes meet the validators, and code generation.
- **Authored**: the native layers of a network description, by name. No floor stands before them. The validators read the capability bytes below, and code
  generation has the last word.

So one chip can refuse a converted operation and take the same layer authored: the M1 does so with argmin over a whole axis. It goes the other way too: no
network description has sine and cosine, which the converter has from the M3 on.

` + "`espalier check MODEL`" + ` judges a model by the converted route. ` + "`--route authored`" + ` judges it as if its operations were written as layers of a network
description. ` + "`--route both`" + ` says for each chip what authoring would win, what it would lose, and what would still be missing. A network description, or a graph of
native layers, has the authored route alone. [layers.md](layers.md#code-generation) has the rows of each route.`
