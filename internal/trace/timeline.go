package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// The timeline of runs: when each part began and ended, and in what.
//
//	predict   ├──────────────────────────────┤
//	dispatch     ├──────────────────────┤
//	task          ├──────┤├─────┤├─────┤
//
// It is written as trace events in JSON, the form that Perfetto and the tracing page of Chrome open.

// A Span is what a part was, and when.
type Span struct {
	Begin, End time.Time
	Label
	of    any
	index int
}

// A Label says what a part is.
type Label struct {
	Category string // "compile", "load", "queue", "dispatch", "task" …
	Name     string
	Args     []Arg
}

// An Arg is something to know about a part: a text or a number.
type Arg struct {
	Name  string
	Value any
}

// A Labeler is something with parts that knows what they are.
type Labeler interface{ Label(index int) Label }

// maxSpans bounds what is recorded: some 100 MB of JSON. Only tests change it.
var maxSpans = 1 << 20

// Record makes t keep when each part began and ended from now on, not only how long it took.
func (t *Times) Record() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record = true
}

// Add notes a part that has its label with it. It does nothing if t is nil or does not record.
func (t *Times) Add(l Label, began, ended time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(Span{Begin: began, End: ended, Label: l})
}

// keep is called with the lock held.
func (t *Times) keep(s Span) {
	switch {
	case !t.record:
	case len(t.spans) < maxSpans:
		t.spans = append(t.spans, s)
	default:
		t.dropped++
	}
}

// Spans are what was recorded: by their beginning, and one within another after it. What there were too many of is counted.
func (t *Times) Spans() (list []Span, dropped int) {
	t.mu.Lock()
	list, dropped = slices.Clone(t.spans), t.dropped
	t.mu.Unlock()
	for i := range list {
		if s := &list[i]; s.of != nil {
			if of, ok := s.of.(Labeler); ok {
				s.Label = of.Label(s.index)
			} else {
				s.Label = Label{Category: "other", Name: fmt.Sprintf("%T", s.of)}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Span) int {
		return cmp.Or(a.Begin.Compare(b.Begin), b.End.Compare(a.End))
	})
	return list, dropped
}

// Forget drops what was recorded so far.
func (t *Times) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans, t.dropped = t.spans[:0], 0
}

// A traceEvent is an event as JSON has it: https://perfetto.dev/docs/getting-started/other-formats. Times are in
// microseconds.
type traceEvent struct {
	Name     string   `json:"name"`
	Category string   `json:"cat,omitempty"`
	Phase    string   `json:"ph"`
	At       *float64 `json:"ts,omitempty"`
	Took     *float64 `json:"dur,omitempty"`
	Process  int      `json:"pid"`
	Thread   int      `json:"tid"`
	Args     args     `json:"args,omitempty"`
}

// args are an object with its fields in their order.
type args []Arg

func (a args) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, one := range a {
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// head is how what WriteTimeline writes begins.
const head = `{"displayTimeUnit":"ns","traceEvents":[`

// IsTimeline reports whether a file begins as what WriteTimeline writes.
func IsTimeline(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(head))
	_, err = io.ReadFull(f, begin)
	return err == nil && string(begin) == head
}

// WriteTimeline writes what was recorded as trace events, one a line. Parts that overlap and are not one within the other, as of
// runs at the same time, are on lanes of their own.
func (t *Times) WriteTimeline(to io.Writer, process string) error {
	spans, dropped := t.Spans()
	w := bufio.NewWriter(to)
	first := true
	event := func(e traceEvent) error {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lead := ",\n"
		if first {
			lead, first = head+"\n", false
		}
		w.WriteString(lead)
		_, err = w.Write(text)
		return err
	}
	if err := event(traceEvent{Name: "process_name", Phase: "M", Process: 1, Args: args{{"name", process}}}); err != nil {
		return err
	}
	var lanes lanes
	for i := range spans {
		s := &spans[i]
		at, took := microseconds(s.Begin.Sub(spans[0].Begin)), microseconds(s.End.Sub(s.Begin))
		e := traceEvent{Name: s.Name, Category: s.Category, Phase: "X", At: &at, Took: &took, Process: 1, Thread: 1 + lanes.place(s), Args: s.Args}
		if err := event(e); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\n],\"otherData\":{\"dropped\":%d}}\n", dropped)
	return w.Flush()
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// lanes are, for each lane, the ends of the spans that are open in it, the outermost first.
type lanes [][]time.Time

// place finds the first lane in which a span is within the last one that is open, or after it.
func (l *lanes) place(s *Span) int {
	for i := range *l {
		open := (*l)[i]
		for len(open) > 0 && !open[len(open)-1].After(s.Begin) {
			open = open[:len(open)-1]
		}
		if (*l)[i] = open; len(open) == 0 || !s.End.After(open[len(open)-1]) {
			(*l)[i] = append(open, s.End)
			return i
		}
	}
	*l = append(*l, []time.Time{s.End})
	return len(*l) - 1
}
