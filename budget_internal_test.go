package espalier

import (
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/trace"
)

// A prediction that was recorded is cut where its parts begin and end.
func TestStages(t *testing.T) {
	var p Profile
	p.Record()
	at := func(n int) time.Time { return time.Unix(1000, int64(n)) }
	add := func(category, name string, from, to int) {
		p.times.Add(trace.Label{Category: category, Name: name}, at(from), at(to))
	}
	add("caller", "open", 0, 90)
	// compiled and loaded at first; a cast, a dispatch of two tasks, the host, a dispatch without tasks
	add("predict", "predict", 100, 1100)
	add("compile", "compile", 110, 310)
	add("compile", "clean", 120, 130)
	add("load", "load", 310, 410)
	add("cast", "x", 420, 430)
	add("dispatch", "main_0", 440, 640)
	add("task", "Conv", 450, 500)
	add("task", "Reduction", 510, 600)
	add("host", "main_1", 650, 750)
	add("dispatch", "main_2", 760, 860)
	// through a stream, which waits for an event too
	add("predict", "predict", 2000, 2200)
	add("queue", "submitted", 2010, 2030)
	add("queue", "waiting for events", 2030, 2040)
	add("dispatch", "main_0", 2050, 2150)
	add("task", "Conv", 2060, 2140)
	add("completion", "completion", 2160, 2180)
	want := []Stages{
		{Bind: 700 - 110 - 150 - 40 - 100, Request: 10 + 100, Engine: 150, Completion: 40, Host: 100, Total: 700, Dispatches: 2},
		{Bind: 200 - 10 - 30 - 80 - 40, Request: 10, Kick: 30, Engine: 80, Completion: 10 + 30, Total: 200, Dispatches: 1},
	}
	got := p.Stages()
	if len(got) != len(want) {
		t.Fatalf("%d predictions: %+v", len(got), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("prediction %d\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}
