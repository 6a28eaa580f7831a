package layers

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
)

// WriteJSON writes the table by the schema of docs/json.md.
func (t *Table) WriteJSON(w io.Writer) error { return report.WriteJSON(w, t) }

// WriteText writes the table for people.
func (t *Table) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	rows := [][]string{{"kind", "standing", "type tag", "class", "operands", "first chip, converted", "first chip, authored"}}
	for i := range t.Kinds {
		s := &t.Kinds[i]
		rows = append(rows, []string{s.Name, s.Standing, orDash(s.Type), strconv.Itoa(s.Class), s.operands(), s.Converted.text(), s.Authored.text()})
	}
	report.Columns(b, "", rows)
	return b.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (c *Chip) text() string {
	if c == nil {
		return "-"
	}
	return c.Chips
}

// operands are what a kind reads and makes: "x, w, [bias] → y".
func (s *Summary) operands() string {
	var bottoms []string
	for _, o := range s.Bottoms {
		bottoms = append(bottoms, o.text())
	}
	return strings.TrimSpace(strings.Join(bottoms, ", ") + " → " + strings.Join(s.Tops, ", "))
}

func (o *Operand) text() string {
	text := o.Name
	if o.Repeats {
		text += " …"
	}
	if o.Optional {
		text = "[" + text + "]"
	}
	return text
}

// WriteJSON writes what is known of the kind by the schema of docs/json.md.
func (k *Kind) WriteJSON(w io.Writer) error { return report.WriteJSON(w, k) }

// WriteText writes what is known of the kind for people.
func (k *Kind) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, k.Name)
	fmt.Fprintf(b, "  %s\n", strings.Join(k.facts(), ", "))
	k.writeOperands(b)
	k.writeFields(b)
	k.writeChips(b)
	k.writeGates(b)
	k.writeCodegen(b)
	k.writeOperations(b)
	fmt.Fprintln(b, "sources")
	for _, s := range k.Sources {
		fmt.Fprintf(b, "  %s\n", s)
	}
	if k.Inferred != "" {
		fmt.Fprintf(b, "  inferred: %s\n", k.Inferred)
	}
	return b.Flush()
}

// facts are what Apple's compiler has of the kind.
func (k *Kind) facts() []string {
	facts := []string{strings.TrimSpace(k.Standing + " " + k.Descriptor)}
	if k.Type != "" {
		facts = append(facts, "Type "+k.Type+" in a netplist")
	}
	return append(facts, fmt.Sprintf("class %d", k.Class))
}

func (k *Kind) writeOperands(w io.Writer) {
	fmt.Fprintf(w, "operands: %s\n", k.operands())
	var rows [][]string
	for _, o := range k.Bottoms {
		switch {
		case o.Constant:
			rows = append(rows, []string{o.Name, "must be constant"})
		case o.Weight:
			rows = append(rows, []string{o.Name, "is constant on every chip"})
		case o.Indices:
			rows = append(rows, []string{o.Name, "counts elements"})
		}
	}
	report.Columns(w, "  ", rows)
	fmt.Fprintf(w, "example: %s\n", k.Example)
}

func (k *Kind) writeFields(w io.Writer) {
	if len(k.Fields) == 0 {
		fmt.Fprintln(w, "no fields")
		return
	}
	fmt.Fprintln(w, "fields")
	rows := [][]string{{"name", "default", "key in a netplist", "holds"}}
	for _, f := range k.Fields {
		key, holds := orDash(f.Key), f.Type
		if f.Inferred {
			key += " (inferred)"
		}
		if len(f.Tokens) > 0 {
			holds = "one of " + strings.Join(f.Tokens, ", ")
		}
		rows = append(rows, []string{f.Name, orDash(f.Default), key, holds})
	}
	report.Columns(w, "  ", rows)
}

func (k *Kind) writeChips(w io.Writer) {
	converted, authored := "none: no operation of MIL becomes it", "none: "+k.NoAuthored
	switch {
	case k.Converted != nil:
		converted = fmt.Sprintf("%s, target %s", k.Converted.Chips, k.Converted.Target)
	case len(k.Operations) > 0:
		converted = "none: the host runs the operations that become it"
	}
	if k.Authored != nil {
		authored = fmt.Sprintf("%s, target %s", k.Authored.Chips, k.Authored.Target)
	}
	fmt.Fprintln(w, "first chip")
	report.Columns(w, "  ", [][]string{{"converted from a model", converted}, {"authored in a network", authored}})
	fmt.Fprintln(w, "the example compiled")
	report.Columns(w, "  ", [][]string{{"for virtual", k.Virtual.text("")}, {"for h13", k.H13.text("native-encoded")}})
}

func (e *Encoding) text(own string) string {
	if e.Tasks == 0 {
		return "no tasks: " + e.Reason
	}
	text := report.Count(e.Tasks, "task")
	switch {
	case !e.Own:
		text += ", of ours: " + e.Reason
	case own != "":
		text += ", " + own
	}
	return text
}

// writeGates writes the strings of the validator under their IDs.
func (k *Kind) writeGates(w io.Writer) {
	if k.Validator != "" {
		fmt.Fprintf(w, "validator %s\n", k.Validator)
	} else {
		fmt.Fprintf(w, "no validator: %s\n", k.NoValidator)
	}
	if len(k.Gates) > 0 {
		fmt.Fprintln(w, "  strings are for one layer that meets the gate, chips those that reject it; tensor-extent holds for every kind")
	}
	for i, g := range k.Gates {
		if i == 0 || k.Gates[i-1].ID != g.ID {
			fmt.Fprintf(w, "  %s: %s\n", g.ID, g.Title)
		}
		fmt.Fprintf(w, "    %s\n", g.Text)
		for _, l := range g.Limits {
			fmt.Fprintf(w, "      on %s: limit %s\n", chipsText(l.has), l.Limit)
		}
	}
}

// has reports whether a target has the limit.
func (l *Limit) has(t *hal.Target) bool { return slices.Contains(l.Targets, t.Name) }

// chipsText names the chips among the first of each family that something holds of.
func chipsText(holds func(*hal.Target) bool) string {
	all := chips()
	var at []int
	var names []string
	for i, t := range all {
		if holds(t) {
			at, names = append(at, i), append(names, t.Family.Chips())
		}
	}
	n := len(at)
	run := n > 0 && at[n-1]-at[0] == n-1
	switch {
	case n == 0:
		return "the smallest parts alone"
	case n == len(all):
		return "every chip"
	case run && n > 1 && at[n-1] == len(all)-1:
		return all[at[0]].Family.OrLater()
	case run && n > 1 && at[0] == 0:
		return "chips before " + strings.TrimSuffix(all[at[n-1]+1].Family.OrLater(), " or later")
	}
	return strings.Join(names, ", ")
}

func (k *Kind) writeCodegen(w io.Writer) {
	if len(k.Codegen) == 0 {
		return
	}
	fmt.Fprintln(w, "code generation")
	for i := range k.Codegen {
		c := &k.Codegen[i]
		route := ""
		if c.Route != anec.AnyRoute.String() {
			route = ", " + c.Route
		}
		fmt.Fprintf(w, "  %s%s, on %s: %s\n    %s\n", c.Subject, route, chipsText(c.isAbout), c.Outcome, c.Text)
		if c.Against != "" {
			fmt.Fprintf(w, "    disputed: %s\n", c.Against)
		}
	}
}

func (k *Kind) writeOperations(w io.Writer) {
	if len(k.Operations) == 0 {
		return
	}
	fmt.Fprintln(w, "operations of MIL that become it")
	var rows [][]string
	for _, o := range k.Operations {
		converted := o.Converted.text()
		if o.Converted == nil {
			converted = "on the host"
		}
		others := slices.DeleteFunc(slices.Clone(o.Layers), func(name string) bool { return name == k.Name })
		with := ""
		if len(others) > 0 {
			with = "with " + strings.Join(others, ", ")
		}
		rows = append(rows, []string{o.Name, converted, with})
	}
	report.Columns(w, "  ", rows)
}
