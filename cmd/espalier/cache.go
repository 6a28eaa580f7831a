package main

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/report"
)

type cacheCmd struct {
	Action string `arg:"" optional:"" default:"list" help:"list, what is there (the default); verify, read everything and remove what is damaged; clean, remove everything. ESPALIER_CACHE names the folder, or is off; without it, it is in the user's folder for caches. ESPALIER_CACHE_SIZE bounds it, as 500M or 20G: by default at 4 GiB. What was used the longest time ago goes first."`
	JSON   bool   `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

// The actions.
const (
	cacheList   = "list"
	cacheVerify = "verify"
	cacheClean  = "clean"
)

// cacheReport is what cache --json prints.
type cacheReport struct {
	Folder  string             `json:"folder,omitempty"`
	Bytes   int64              `json:"bytes"`
	Bound   int64              `json:"bound"`
	Digests int                `json:"digests"`
	Entries []cacheEntryReport `json:"entries"`
	Checked int                `json:"checked,omitempty"`
	Removed int64              `json:"removed,omitempty"`
}

type cacheEntryReport struct {
	Key      string           `json:"key"`
	Model    string           `json:"model,omitempty"`
	Function string           `json:"function,omitempty"`
	Shapes   map[string][]int `json:"shapes,omitempty"`
	Target   string           `json:"target,omitempty"`
	Numerics string           `json:"numerics,omitempty"`
	Compiler string           `json:"compiler,omitempty"`
	Size     int64            `json:"size"`
	Used     time.Time        `json:"used"`
	Error    string           `json:"error,omitempty"`
}

func (c *cacheCmd) Run(call *invocation) error {
	var do func(*invocation, *cacheReport) error
	switch c.Action {
	case cacheList:
		do = c.list
	case cacheVerify:
		do = c.verify
	case cacheClean:
		do = c.clean
	default:
		return usagef("cache %s: expected %s, %s or %s", c.Action, cacheList, cacheVerify, cacheClean)
	}
	contents, err := espalier.ReadCache("")
	if err != nil {
		return err
	}
	r := &cacheReport{
		Folder: contents.Dir, Bytes: contents.Bytes, Bound: contents.Bound, Digests: contents.Digests,
		Entries: newCacheEntryReports(contents.Entries),
	}
	return do(call, r)
}

func newCacheEntryReports(list []espalier.CacheEntry) []cacheEntryReport {
	reports := []cacheEntryReport{}
	for _, e := range list {
		r := cacheEntryReport{
			Key: e.Key, Model: e.Model, Function: e.Function, Shapes: e.Shapes, Target: e.Target, Numerics: e.Numerics,
			Compiler: e.Compiler, Size: e.Bytes, Used: e.Used.UTC().Truncate(time.Second),
		}
		if e.Err != nil {
			r.Error = e.Err.Error()
		}
		reports = append(reports, r)
	}
	return reports
}

// write writes the report as JSON, or what text writes.
func (c *cacheCmd) write(call *invocation, r *cacheReport, text func(w *bufio.Writer)) error {
	if c.JSON {
		return report.WriteJSON(call.stdout, r)
	}
	w := bufio.NewWriter(call.stdout)
	if r.Folder == "" {
		fmt.Fprintln(w, "the cache is off: ESPALIER_CACHE says so")
	} else {
		text(w)
	}
	return w.Flush()
}

func (c *cacheCmd) list(call *invocation, r *cacheReport) error {
	return c.write(call, r, func(w *bufio.Writer) {
		fmt.Fprintf(w, "%s\n  %s, %s of %s\n", report.Printable(r.Folder), report.Count(len(r.Entries), "compiled function"), report.Size(r.Bytes), report.Size(r.Bound))
		r.table(w)
	})
}

// table writes the entries, a line for each.
func (r *cacheReport) table(w *bufio.Writer) {
	if len(r.Entries) == 0 {
		return
	}
	rows := [][]string{{"last used", "size", "for", "function", "model"}}
	for _, e := range r.Entries {
		target := e.Target
		if e.Numerics != "" && e.Numerics != e.Target {
			target += " as " + e.Numerics
		}
		model := report.Printable(e.Model)
		if e.Error != "" {
			model = strings.TrimSpace(model + " damaged: " + e.Error)
		}
		rows = append(rows, []string{e.Used.Local().Format("2006-01-02 15:04"), report.Size(e.Size), target, e.function(), model})
	}
	report.Columns(w, "", rows)
}

// function is the name, with the shapes that it is compiled for.
func (e *cacheEntryReport) function() string {
	text := report.Printable(e.Function)
	for _, name := range slices.Sorted(maps.Keys(e.Shapes)) {
		text += fmt.Sprintf(" %s %v", report.Printable(name), e.Shapes[name])
	}
	return text
}

func (c *cacheCmd) verify(call *invocation, r *cacheReport) error {
	call.bar.set(0, 1, "reading "+r.Folder)
	damaged, checked, err := espalier.VerifyCache(call, "")
	if err != nil {
		return err
	}
	call.bar.end()
	r.Entries, r.Checked = newCacheEntryReports(damaged), checked
	err = c.write(call, r, func(w *bufio.Writer) {
		if len(damaged) == 0 {
			fmt.Fprintf(w, "%s: %s, all as written\n", report.Printable(r.Folder), report.CountOf(checked, "entry", "entries"))
		}
		r.table(w)
	})
	if err == nil && len(damaged) > 0 {
		err = fmt.Errorf("%d of %s damaged, and removed: what they held is compiled anew when it is asked for", len(damaged), report.CountOf(checked, "entry was", "entries were"))
	}
	return err
}

func (c *cacheCmd) clean(call *invocation, r *cacheReport) error {
	removed, err := espalier.CleanCache("")
	if err != nil {
		return err
	}
	r.Removed, r.Bytes, r.Digests, r.Entries = removed, 0, 0, []cacheEntryReport{}
	return c.write(call, r, func(w *bufio.Writer) {
		fmt.Fprintf(w, "%s: %s removed\n", report.Printable(r.Folder), report.Size(removed))
	})
}

// warn says on stderr what the reader of a model warns of.
func (call *invocation) warn(list []*espalier.Finding) {
	for _, line := range report.Warnings(list) {
		fmt.Fprintf(call.notes, "espalier: warning: %s\n", line)
	}
}

// noteOnce says on stderr why the cache is not used, the first time: it is no error.
func (call *invocation) noteOnce() func(error) {
	var once sync.Once
	return func(err error) {
		once.Do(func() { fmt.Fprintf(call.notes, "espalier: note: %s\n", strings.ReplaceAll(err.Error(), "\n", " ")) })
	}
}
