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
	Name string `arg:"" optional:"" help:"Target, chip or device: h13g, m1, 'm1 pro', 'iPhone 16 Pro', iPhone17,1, family:A14 …"`
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
	StandsFor   string        `json:"stands_for,omitempty"`
	Like        string        `json:"like,omitempty"`
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
	t, err := call.takeTarget(c.Name)
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
	r := targetReport{Name: t.Name, Family: t.Family.String(), FamilyIndex: int(t.Family), Silicon: t.Silicon, Cores: t.Cores, Aliases: t.Aliases}
	if chip := t.Stands(); chip != nil {
		r.StandsFor = chip.Name
	}
	if like := t.Like(); like != nil {
		r.Like = like.Name
	}
	return r
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
	if chip := t.Stands(); chip != nil {
		fmt.Fprintf(w, "The bare name is ours, for a generation. It stands for the base chip, which prints %s.\n", chip.Name)
	}
	if like := t.Like(); like != nil {
		fmt.Fprintf(w, "No source has its table: all is predicted from %s, but what was seen on the chip.\n", like.Name)
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
		if c.Concerns(t) {
			fmt.Fprintf(w, "\nSources disagree on %s.\n  one:    %s\n  other:  %s\n  taken:  %s\n", c.Matter, c.One, c.Other, c.Choice)
		}
	}
	return w.Flush()
}

// takeTarget finds the target that a name is for, and says which it took where sources disagree.
func (call *invocation) takeTarget(name string) (*hal.Target, error) {
	choice, err := hal.Resolve(name)
	if note := choice.Note(); note != "" {
		fmt.Fprintf(call.notes, "espalier: note: %s\n", note)
	}
	return choice.Target, err
}
