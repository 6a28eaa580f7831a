package bench

import (
	"regexp"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
)

// The budget has the stages of the execution model's table, and nothing else is measured with it.
func TestBudget(t *testing.T) {
	f, inputs := convolutions(t)
	r, err := Measure(t.Context(), f, inputs, Options{Model: "m", Repeat: 4, Budget: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.First == nil || r.Latency != nil || r.Streams != nil || r.Roofline != nil || r.Profile != nil {
		t.Errorf("%+v", r)
	}
	b := r.Budget
	if b == nil || b.Dispatches != 1 || b.First.Runs != 1 || b.Inline.Runs != 4 || b.Stream.Runs != 4 {
		t.Fatalf("%+v", b)
	}
	for what, s := range map[string]*BudgetStages{"first": b.First, "inline": b.Inline, "stream": b.Stream} {
		if s.BindUS <= 0 || s.RequestUS <= 0 || s.EngineUS <= 0 || s.CompletionUS <= 0 || s.HostUS != 0 || s.TotalUS <= s.EngineUS {
			t.Errorf("%s: %+v", what, s)
		}
		if (s.KickUS > 0) != (what == "stream") {
			t.Errorf("%s: a kick of %v µs", what, s.KickUS)
		}
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`[0-9]+\.[0-9]+( ms)?`).ReplaceAllString(text.String(), "#")
	got = regexp.MustCompile(` +`).ReplaceAllString(got[strings.Index(got, "a prediction by stage"):], " ")
	want := `a prediction by stage: 1 dispatch, the first apart, medians of 4 runs inline and 4 through a stream
 µs first inline through a stream the M1
 binding, runtime, input and output copies # # # about 25
 building the request # # # about 16
 kick # # # 2 to 3
 round trip: the engine # # # about 130
 completion # # # about 10
 in all # # # about 190
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// What the host evaluates has no dispatch.
func TestBudgetOfTheHost(t *testing.T) {
	m, err := espalier.Config{Units: espalier.CPUOnly}.Open(testModel(t))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, inputs := convolutions(t)
	if _, err := Measure(t.Context(), m.Functions()[0], inputs, Options{Repeat: 1, Budget: true}); err == nil || !strings.Contains(err.Error(), "no dispatch to take apart") {
		t.Errorf("got %v", err)
	}
}
