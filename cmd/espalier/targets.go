package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hal"
)

type targetsCmd struct {
	Name string `arg:"" optional:"" help:"Target or chip: h13, m1, 'm1 pro', family:A14 …"`
	JSON bool   `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

// targetsReport is what targets --json prints without a name.
type targetsReport struct {
	Targets []targetReport `json:"targets"`
}

// targetReport is a target; with a name, that is all that targets --json prints.
type targetReport struct {
	Name        string        `json:"name"`
	Family      string        `json:"family"`
	FamilyIndex int           `json:"family_index"`
	Silicon     string        `json:"silicon"`
	Cores       int           `json:"cores"`
	Aliases     []string      `json:"aliases,omitempty"`
	Values      []valueReport `json:"values,omitempty"`
}

type valueReport struct {
	Group  string `json:"group"`
	Name   string `json:"name"`
	Offset string `json:"offset,omitempty"`
	Value  string `json:"value"`
	Status string `json:"status"`
	Source string `json:"source"`
}

func (c *targetsCmd) Run(call *invocation) error {
	if c.Name == "" {
		return c.list(call.stdout)
	}
	t, err := hal.Lookup(c.Name)
	if err != nil {
		return usageError{err}
	}
	if c.JSON {
		r := newTargetReport(t)
		for _, v := range t.Values() {
			r.Values = append(r.Values, valueReport{v.Group, v.Name, v.Offset, v.Text, v.Status.String(), v.Source})
		}
		return report.WriteJSON(call.stdout, r)
	}
	return printTarget(call.stdout, t)
}

func newTargetReport(t *hal.Target) targetReport {
	return targetReport{Name: t.Name, Family: t.Family.String(), FamilyIndex: int(t.Family), Silicon: t.Silicon, Cores: t.Cores, Aliases: t.Aliases}
}

func (c *targetsCmd) list(out io.Writer) error {
	if c.JSON {
		var r targetsReport
		for _, t := range hal.Targets() {
			r.Targets = append(r.Targets, newTargetReport(t))
		}
		return report.WriteJSON(out, r)
	}
	w := bufio.NewWriter(out)
	rows := [][]string{{"target", "family", "cores", "silicon", "other names"}}
	for _, t := range hal.Targets() {
		rows = append(rows, []string{t.Name, t.Family.String(), fmt.Sprint(t.Cores), t.Silicon, strings.Join(t.Aliases, " ")})
	}
	report.Columns(w, "", rows)
	return w.Flush()
}

// printTarget prints every value of a target with its status and source, group by group.
func printTarget(out io.Writer, t *hal.Target) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s: %s\n", t.Name, t.Silicon)
	if len(t.Aliases) > 0 {
		fmt.Fprintf(w, "also %s\n", strings.Join(t.Aliases, ", "))
	}
	rows := [][]string{{"", "", "value", "status", "offset", "source"}}
	group := ""
	for _, v := range t.Values() {
		head := ""
		if v.Group != group {
			group, head = v.Group, v.Group
		}
		rows = append(rows, []string{head, v.Name, v.Text, v.Status.String(), v.Offset, v.Source})
	}
	report.Columns(w, "", rows)
	for _, c := range hal.Conflicts() {
		for _, name := range c.Targets {
			if name == t.Name {
				fmt.Fprintf(w, "\nSources disagree on %s.\n  one:    %s\n  other:  %s\n  taken:  %s\n", c.Matter, c.One, c.Other, c.Choice)
			}
		}
	}
	return w.Flush()
}
