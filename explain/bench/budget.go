package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/report"
)

// A Budget is where the time of a prediction goes, by the stages of the execution model's Table 2.3.
type Budget struct {
	Dispatches int           `json:"dispatches"` // of a prediction
	First      *BudgetStages `json:"first"`      // of the first prediction, without compiling and loading
	Inline     *BudgetStages `json:"inline"`     // of later ones, on the goroutine of the caller: medians
	Stream     *BudgetStages `json:"stream"`     // through a stream
}

// BudgetStages are in microseconds.
type BudgetStages struct {
	Runs         int     `json:"runs"`
	BindUS       float64 `json:"bind_us"`
	RequestUS    float64 `json:"request_us"`
	KickUS       float64 `json:"kick_us"`
	EngineUS     float64 `json:"engine_us"`
	CompletionUS float64 `json:"completion_us"`
	HostUS       float64 `json:"host_us"`
	TotalUS      float64 `json:"total_us"`
}

// stages are the rows of the table, with what the seed's Table 2.3 has for the M1.
var stages = []struct {
	name, seed string
	of         func(*espalier.Stages) time.Duration
	to         func(*BudgetStages) *float64
}{
	{"binding, runtime, input and output copies", "about 25", func(s *espalier.Stages) time.Duration { return s.Bind }, func(b *BudgetStages) *float64 { return &b.BindUS }},
	{"building the request", "about 16", func(s *espalier.Stages) time.Duration { return s.Request }, func(b *BudgetStages) *float64 { return &b.RequestUS }},
	{"kick", "2 to 3", func(s *espalier.Stages) time.Duration { return s.Kick }, func(b *BudgetStages) *float64 { return &b.KickUS }},
	{"round trip: the engine", "about 130", func(s *espalier.Stages) time.Duration { return s.Engine }, func(b *BudgetStages) *float64 { return &b.EngineUS }},
	{"completion", "about 10", func(s *espalier.Stages) time.Duration { return s.Completion }, func(b *BudgetStages) *float64 { return &b.CompletionUS }},
	{"segments of the host", "", func(s *espalier.Stages) time.Duration { return s.Host }, func(b *BudgetStages) *float64 { return &b.HostUS }},
	{"in all", "about 190", func(s *espalier.Stages) time.Duration { return s.Total }, func(b *BudgetStages) *float64 { return &b.TotalUS }},
}

// newBudgetStages are the medians, of each stage by itself.
func newBudgetStages(list []espalier.Stages) *BudgetStages {
	if len(list) == 0 {
		return nil
	}
	b := &BudgetStages{Runs: len(list)}
	for _, s := range stages {
		times := make([]time.Duration, len(list))
		for i := range list {
			times[i] = s.of(&list[i])
		}
		slices.Sort(times)
		*s.to(b) = float64(times[len(times)/2]) / float64(time.Microsecond)
	}
	return b
}

// budget takes predictions apart. Of the first one, m.first has kept the stages.
func (m *measurement) budget(ctx context.Context) error {
	var began time.Time
	inline, through, err := m.f.Budget(ctx, m.inputs, func(n int) bool {
		if n == 1 { // of one way, or of the other
			began = time.Now()
		}
		return m.goOn(n, began)
	})
	if err != nil {
		return err
	}
	m.report.Budget = &Budget{
		Dispatches: inline[0].Dispatches,
		First:      newBudgetStages(m.firstStages), Inline: newBudgetStages(inline), Stream: newBudgetStages(through),
	}
	return nil
}

// section is the table of the budget.
func (b *Budget) section() section {
	text := func(of *BudgetStages, at func(*BudgetStages) *float64) string {
		if of == nil {
			return ""
		}
		return fmt.Sprintf("%.2f", *at(of))
	}
	rows := [][]string{{"µs", "first", "inline", "through a stream", "the M1"}}
	for _, s := range stages {
		row := []string{s.name}
		for _, of := range []*BudgetStages{b.First, b.Inline, b.Stream} {
			row = append(row, text(of, s.to))
		}
		if s.seed == "" && *s.to(b.Inline) == 0 {
			continue
		}
		rows = append(rows, append(row, s.seed))
	}
	title := fmt.Sprintf("a prediction by stage: %s, the first apart, medians of %s inline and %s through a stream",
		report.CountOf(b.Dispatches, "dispatch", "dispatches"), report.Count(b.Inline.Runs, "run"), report.Thousands(b.Stream.Runs))
	return section{title, rows}
}
