package hal

import (
	"fmt"
	"strings"
)

// numericsPage is docs/numerics.md.
func numericsPage() []byte {
	var p page
	p.text("# Numerics of the chips")
	p.text("What a chip does to numbers where it and plain arithmetic part. Each rule is a field of the target. This page is made from the table in `hal`:\nafter a change there, run `go test ./hal -run TestNumericsDocs -update`.")
	p.text(`A program that is compiled for a chip runs with the rules of that chip. The profile is the target's name, and after it any number of rules with another value:

    espalier run model.mlpackage -t m1 --numerics h13,saturate-at-port=0
    espalier run program.hwx --numerics h13,nan-to-inf=false,table-from-knots=false

` + "`virtual`" + ` has none of them: a value is rounded to its declared type when it is stored, half to even, and inside a task it is fp32.
Tasks of version 7, which are H13's own, and of version 256, which all other targets have, follow the same rules: the same tests range over both.`)
	p.text(`A rule is *measured* where it was seen on the chip, *predicted* where it follows from another chip by what a source says. Where no source has it, it is off.`)

	plain, _ := numerics(ownTier)
	p.text("## The rules")
	p.head("Rule", "virtual", "H13", "H14", "H15", "H16", "H17", "H18")
	columns := []string{"virtual", "h13", "h14", "h15", "h16", "h17", "h18"}
	for _, r := range Rules() {
		cells := []string{fmt.Sprintf("[`%s`](#%s)", r.Name, r.Name)}
		for _, name := range columns {
			t, err := Lookup(name)
			if err != nil {
				panic("bug: " + err.Error())
			}
			cells = append(cells, r.Value(t.Numerics))
		}
		p.row(cells...)
	}
	p.text("")
	for _, r := range Rules() {
		p.text("### %s", r.Name)
		p.text("%s.", capital(r.Doc))
		off := fmt.Sprintf("- Off: `%s=%s`.", r.Name, r.Value(plain))
		if r.Value(plain) == "true" {
			off = fmt.Sprintf("- Plain arithmetic does so too. The other way: `%s=false`.", r.Name)
		}
		p.text("- Concerns: %s.\n- Source: %s.\n%s\n%s", r.Where, r.Source, off, ruleTargets(&r, plain))
	}

	p.text("## What is not modelled")
	p.text(`- The tables of silu and of the finer sigmoid, of erf, sin, cos and atan, and the seams of their arguments: no source has the knots. They are computed.
- The published worst error of gelu is 0.0059 and its value at 0 is -0.000543. The table that Apple's compiler emits gives 0.0061 and -0.00075; why they differ is not known.
- A linear layer with a single input: measured, the port cuts it off. The compiler writes it as a convolution of one product, which the port lets pass; a product of matrices that stays one is cut off.
  A version-7 task of one product, which could be either, is cut off.
- Softmax of version-256 tasks computes its powers and its quotient; a chip takes both from tables.
- The variance in a layer normalization takes a NaN for a large finite number. Here it is +inf, as elsewhere.
- Which of the two roundings of 2049 the M5 does, and why: M1 gives 2048, M5 2050.
- The order in which the array adds, and what one unit in the last place at the edges of tiles depends on.`)
	return p.Bytes()
}

// ruleTargets lists the targets that have a rule on, by how it is known.
func ruleTargets(r *Rule, plain Numerics) string {
	var text strings.Builder
	found := false
	for _, status := range []Status{Measured, Decoded, Predicted, Unknown} {
		var names []string
		source := ""
		for _, t := range Targets() {
			fact := numericsFactOf(t, r.Name)
			if t.Family != Virtual && fact.status == status && r.Value(t.Numerics) != r.Value(plain) {
				names, source = append(names, t.Name), fact.source
			}
		}
		if len(names) == 0 {
			continue
		}
		found = true
		fmt.Fprintf(&text, "- On, %v: %s", status, strings.Join(names, ", "))
		if status != Measured {
			fmt.Fprintf(&text, " (%s)", source)
		}
		text.WriteString(".\n")
	}
	switch {
	case !found && r.Value(plain) == "true":
		return "- Every target does."
	case !found:
		return "- On no target by default."
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
