package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type labeled string

func (l labeled) Label(i int) Label {
	return Label{Category: "part", Name: fmt.Sprint(l, i), Args: []Arg{{"z", 1}, {"a", "<&>"}}}
}

// Parts that overlap have lanes of their own; one within another is in its lane.
func TestTimeline(t *testing.T) {
	var times Times
	at := func(n int) time.Time { return time.Unix(1000, int64(n)*1000) }
	add := func(name string, from, to int) { times.Add(Label{Category: "c", Name: name}, at(from), at(to)) }
	add("before", 0, 1)
	times.Record()
	add("inner", 11, 14)
	add("outer", 10, 20)
	add("across", 13, 25)
	add("within both", 15, 16)
	add("next", 20, 30)
	add("same", 20, 30)
	times.End(labeled("part"), 3, time.Now())
	var got bytes.Buffer
	if err := times.WriteTimeline(&got, "test"); err != nil {
		t.Fatal(err)
	}
	text := got.String()
	text = text[:strings.Index(text, `{"name":"part3"`)]
	want := `{"displayTimeUnit":"ns","traceEvents":[
{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"test"}},
{"name":"outer","cat":"c","ph":"X","ts":0,"dur":10,"pid":1,"tid":1},
{"name":"inner","cat":"c","ph":"X","ts":1,"dur":3,"pid":1,"tid":1},
{"name":"across","cat":"c","ph":"X","ts":3,"dur":12,"pid":1,"tid":2},
{"name":"within both","cat":"c","ph":"X","ts":5,"dur":1,"pid":1,"tid":1},
{"name":"next","cat":"c","ph":"X","ts":10,"dur":10,"pid":1,"tid":1},
{"name":"same","cat":"c","ph":"X","ts":10,"dur":10,"pid":1,"tid":1},
`
	if text != want {
		t.Errorf("got\n%s", text)
	}
	if !strings.Contains(got.String(), `"args":{"z":1,"a":"\u003c\u0026\u003e"}`) {
		t.Errorf("the arguments are not in their order:\n%s", got.String())
	}
	var whole struct {
		TraceEvents []map[string]any
		OtherData   struct{ Dropped int }
	}
	if err := json.Unmarshal(got.Bytes(), &whole); err != nil || len(whole.TraceEvents) != 8 {
		t.Errorf("%d events, %v", len(whole.TraceEvents), err)
	}

	path := filepath.Join(t.TempDir(), "t.json")
	for content, is := range map[string]bool{got.String(): true, "{}": false, "": false} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if IsTimeline(path) != is {
			t.Errorf("%.20q is a timeline: %v", content, !is)
		}
	}
	times.Forget()
	if list, _ := times.Spans(); len(list) != 0 {
		t.Errorf("%d are left", len(list))
	}
}

// Nobody who does not ask pays for it.
func TestNoTimeline(t *testing.T) {
	var nobody *Times
	nobody.Add(Label{}, time.Now(), time.Now())
	nobody.End("x", 0, nobody.Begin())
	var sums Times
	sums.End("x", 0, sums.Begin())
	if list, _ := sums.Spans(); len(list) != 0 || sums.Sum("x", 0).Runs != 1 {
		t.Errorf("%d spans, %+v", len(list), sums.Sum("x", 0))
	}
}

// What is too much is counted.
func TestTimelineIsBounded(t *testing.T) {
	defer func(n int) { maxSpans = n }(maxSpans)
	maxSpans = 5
	times := Times{record: true}
	for range 7 {
		times.Add(Label{}, time.Now(), time.Now())
	}
	if list, dropped := times.Spans(); len(list) != 5 || dropped != 2 {
		t.Errorf("%d spans, %d dropped", len(list), dropped)
	}
}
