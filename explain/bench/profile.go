package bench

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/report"
)

// A Profile says where the time of predictions went. docs/json.md explains the fields.
type Profile struct {
	Runs      int       `json:"runs"`
	TotalMS   float64   `json:"total_ms"`
	CompileMS float64   `json:"compile_ms"`
	FetchMS   float64   `json:"fetch_ms,omitempty"`
	LoadMS    float64   `json:"load_ms"`
	EngineMS  float64   `json:"engine_ms"`
	HostMS    float64   `json:"host_ms"`
	CastMS    float64   `json:"cast_ms"`
	Tasks     []Task    `json:"tasks"`
	Host      []Segment `json:"host,omitempty"`
}

// A Task is a task of the engine, and what it took.
type Task struct {
	Segment    string   `json:"segment"`
	Task       int      `json:"task"`
	What       string   `json:"what"`
	Result     string   `json:"result"`
	Operations []string `json:"operations,omitempty"`
	Runs       int      `json:"runs"`
	TotalMS    float64  `json:"total_ms"`
	MinMS      float64  `json:"min_ms"`
	Share      float64  `json:"share"`
	FLOPs      float64  `json:"flops"`
	Bytes      float64  `json:"bytes"`
	GFLOPS     float64  `json:"gflops"`
	GBPS       float64  `json:"gbps"`

	// Of a bench, which knows what the machine can do.
	Bound  Bound   `json:"bound,omitempty"`
	OfRoof float64 `json:"of_roof,omitempty"`
}

// A Segment is one that the host ran.
type Segment struct {
	Segment    string   `json:"segment"`
	Operations []string `json:"operations,omitempty"`
	Runs       int      `json:"runs"`
	TotalMS    float64  `json:"total_ms"`
	MinMS      float64  `json:"min_ms"`
	Share      float64  `json:"share"`
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// NewProfile makes a profile of what predictions of a function took that together were so many and so long. The dearest tasks come first.
func NewProfile(f *espalier.Function, spent *espalier.Profile, runs int, total time.Duration) *Profile {
	p := &Profile{
		Runs: runs, TotalMS: milliseconds(total), CompileMS: milliseconds(spent.Compiled().Total), FetchMS: milliseconds(spent.Fetched().Total),
		LoadMS: milliseconds(spent.Loaded().Total), Tasks: []Task{},
	}
	running := total - spent.Compiled().Total - spent.Fetched().Total - spent.Loaded().Total
	share := func(d time.Duration) float64 { return float64(d) / float64(max(running, d, 1)) }
	for _, s := range f.Profile(spent) {
		switch s.Backend {
		case "host":
			p.HostMS += milliseconds(s.Total)
			p.Host = append(p.Host, Segment{
				Segment: s.Name, Operations: s.Operations, Runs: s.Runs,
				TotalMS: milliseconds(s.Total), MinMS: milliseconds(s.Best), Share: share(s.Total),
			})
		case "engine":
			p.EngineMS += milliseconds(s.Total)
		default:
			p.CastMS += milliseconds(s.Total)
		}
		for _, t := range s.Tasks {
			seconds := max(t.Total.Seconds(), 1e-9)
			p.Tasks = append(p.Tasks, Task{
				Segment: s.Name, Task: t.Index, What: t.What, Result: t.Result, Operations: t.Operations, Runs: t.Runs,
				TotalMS: milliseconds(t.Total), MinMS: milliseconds(t.Best), Share: share(t.Total), FLOPs: t.FLOPs, Bytes: t.Bytes,
				GFLOPS: t.FLOPs * float64(t.Runs) / seconds / 1e9, GBPS: t.Bytes * float64(t.Runs) / seconds / 1e9,
			})
		}
	}
	slices.SortStableFunc(p.Tasks, func(a, b Task) int { return cmp.Compare(b.TotalMS, a.TotalMS) })
	slices.SortStableFunc(p.Host, func(a, b Segment) int { return cmp.Compare(b.TotalMS, a.TotalMS) })
	return p
}

// WriteText writes the profile for people: the dearest tasks, at most so many, and the segments of the host.
func (p *Profile) WriteText(to io.Writer, most int) error {
	w := bufio.NewWriter(to)
	p.writeText(w, most)
	return w.Flush()
}

func (p *Profile) writeText(w *bufio.Writer, most int) {
	runs := float64(max(p.Runs, 1))
	each := func(ms float64) string { return fmt.Sprintf("%.3f ms", ms/runs) }
	once := p.CompileMS + p.FetchMS + p.LoadMS
	rest := max(0, p.TotalMS-once-p.EngineMS-p.HostMS-p.CastMS)
	switch {
	case p.FetchMS > 0:
		fmt.Fprintf(w, "once: taken from the cache in %.3f ms, loaded in %.3f ms\n", p.FetchMS, p.LoadMS)
	case once > 0:
		fmt.Fprintf(w, "once: compiled in %.3f ms, loaded in %.3f ms\n", p.CompileMS, p.LoadMS)
	}
	fmt.Fprintf(w, "%s, on average %s: engine %s, host %s, casts %s, the rest %s\n",
		report.Count(p.Runs, "run"), each(p.TotalMS-once), each(p.EngineMS), each(p.HostMS), each(p.CastMS), each(rest))
	if len(p.Tasks) > 0 {
		n := min(most, len(p.Tasks))
		sum := 0.0
		for _, t := range p.Tasks[:n] {
			sum += t.Share
		}
		fmt.Fprintf(w, "the dearest %s of %d, %s of the time\n", report.Count(n, "task"), len(p.Tasks), percent(sum))
		rows := [][]string{taskTitles(&p.Tasks[0])}
		for _, t := range p.Tasks[:n] {
			rows = append(rows, t.cells(runs))
		}
		report.Columns(w, "  ", rows)
		fmt.Fprintln(w, "all tasks, by what they are")
		report.Columns(w, "  ", p.kinds(most))
	}
	if len(p.Host) > 0 {
		n := min(most, len(p.Host))
		fmt.Fprintf(w, "the dearest %s of the host of %d\n", report.Count(n, "segment"), len(p.Host))
		rows := [][]string{{"ms", "fastest", "share", "segment", "operations"}}
		for _, s := range p.Host[:n] {
			rows = append(rows, []string{fmt.Sprintf("%.3f", s.TotalMS/runs), fmt.Sprintf("%.3f", s.MinMS), percent(s.Share), s.Segment, strings.Join(s.Operations, " ")})
		}
		report.Columns(w, "  ", rows)
	}
	if len(p.Tasks) == 0 && len(p.Host) == 0 {
		fmt.Fprintln(w, "no segments: the host evaluated the model as a whole")
	}
}

// taskTitles are the titles over tasks like this one.
func taskTitles(t *Task) []string {
	titles := []string{"ms", "fastest", "share", "GFLOP/s", "GB/s"}
	if t.Bound != "" {
		titles = append(titles, "of roof", "bound")
	}
	return append(titles, "task", "what", "result", "operations")
}

// cells are what a row of text has of a task, of so many runs.
func (t *Task) cells(runs float64) []string {
	cells := []string{fmt.Sprintf("%.3f", t.TotalMS/runs), fmt.Sprintf("%.3f", t.MinMS), percent(t.Share), rate(t.GFLOPS), rate(t.GBPS)}
	if t.Bound != "" {
		cells = append(cells, percent(t.OfRoof), string(t.Bound))
	}
	return append(cells, fmt.Sprintf("%s:%d", t.Segment, t.Task), t.What, t.Result, strings.Join(t.Operations, " "))
}

// kinds sums up the tasks that are alike, the dearest first, as rows of text.
func (p *Profile) kinds(most int) [][]string {
	type kind struct {
		what                           string
		tasks                          int
		ms, share, seconds, ops, bytes float64
	}
	var kinds []*kind
	byWhat := map[string]*kind{}
	for _, t := range p.Tasks {
		k := byWhat[t.What]
		if k == nil {
			k = &kind{what: t.What}
			byWhat[t.What] = k
			kinds = append(kinds, k)
		}
		k.tasks++
		k.ms += t.TotalMS / float64(max(p.Runs, 1))
		k.share += t.Share
		k.seconds += t.TotalMS / 1e3
		k.ops += t.FLOPs * float64(t.Runs)
		k.bytes += t.Bytes * float64(t.Runs)
	}
	slices.SortStableFunc(kinds, func(a, b *kind) int { return cmp.Compare(b.ms, a.ms) })
	rows := [][]string{{"ms", "share", "GFLOP/s", "GB/s", "tasks", "what"}}
	for _, k := range kinds[:min(most, len(kinds))] {
		seconds := max(k.seconds, 1e-9)
		rows = append(rows, []string{fmt.Sprintf("%.3f", k.ms), percent(k.share), rate(k.ops / seconds / 1e9), rate(k.bytes / seconds / 1e9), report.Thousands(k.tasks), k.what})
	}
	return rows
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// rate writes a number with three digits.
func rate(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
