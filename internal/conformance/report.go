package main

import (
	"bytes"
	"fmt"
	"strings"
)

// family is the group of unit tests that a case comes from: "iOS15_conv".
func (v verdict) family() string {
	family, _, _ := strings.Cut(v.name, "__")
	return family
}

func count(verdicts []verdict, o outcome) int {
	n := 0
	for _, v := range verdicts {
		if v.outcome == o {
			n++
		}
	}
	return n
}

// renderReport writes the report. The verdicts are sorted by name; the same ones give the same bytes.
func renderReport(verdicts []verdict) []byte {
	var b bytes.Buffer
	b.WriteString("# Conformance\n\n" +
		"<!-- Written by `make conformance`. -->\n\n" +
		"Espalier runs the cases that coremltools has in its own unit tests: each is a model, its inputs, the\n" +
		"outputs that Core ML is compared with there, and a tolerance. `make conformance` runs the built command\n" +
		"over all of them and writes this file.\n\n")
	passed := count(verdicts, match)
	fmt.Fprintf(&b, "%d of %d cases match (%.2f %%).\n\n", passed, len(verdicts), 100*float64(passed)/float64(max(1, len(verdicts))))
	b.WriteString("| Tests | Cases | Match | Mismatch | Error |\n|---|--:|--:|--:|--:|\n")
	for rest := verdicts; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].family() == rest[0].family() {
			n++
		}
		row(&b, rest[0].family(), rest[:n])
		rest = rest[n:]
	}
	row(&b, "**all**", verdicts)

	b.WriteString("\n## What does not match\n\n")
	if passed == len(verdicts) {
		b.WriteString("Nothing.\n")
		return b.Bytes()
	}
	b.WriteString("| Case | Outcome | What was found | Why |\n|---|---|---|---|\n")
	for _, v := range verdicts {
		if v.outcome != match {
			why := explanations[v.name]
			if why == "" {
				why = "not found out yet"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.name, v.outcome, cell(v.reason), cell(why))
		}
	}
	return b.Bytes()
}

func row(b *bytes.Buffer, name string, verdicts []verdict) {
	fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", name, len(verdicts), count(verdicts, match), count(verdicts, mismatch), count(verdicts, failure))
}

// cell makes a text fit for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}
