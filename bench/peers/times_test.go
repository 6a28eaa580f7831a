package main

import (
	"errors"
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	for _, test := range []struct {
		runs []time.Duration
		want Times
	}{
		{nil, Times{}},
		{[]time.Duration{3e6}, Times{3, 3, 1}},
		{[]time.Duration{9e6, 1e6, 2e6}, Times{2, 1, 3}},
		{[]time.Duration{4e6, 1e6, 9e6, 2e6}, Times{3, 1, 4}},
	} {
		if got := timesOf(test.runs); got != test.want {
			t.Errorf("%v: %+v, expected %+v", test.runs, got, test.want)
		}
	}
}

// The sides take turns at being first, and the runs that begin a phase are not counted.
func TestInterleave(t *testing.T) {
	order := ""
	a := &side{run: func() error { order += "a"; time.Sleep(phaseTime); return nil }}
	b := &side{run: func() error { order += "b"; time.Sleep(phaseTime); return nil }}
	if err := interleave(2, a, b); err != nil {
		t.Fatal(err)
	}
	if want := "aabb" + "aabb" + "bbaa"; order != want {
		t.Errorf("order %s, expected %s", order, want)
	}
	if len(a.runs) != 2 || len(b.runs) != 2 {
		t.Errorf("%d and %d runs are counted, expected 2 of each", len(a.runs), len(b.runs))
	}
	wrong := errors.New("wrong")
	if err := interleave(1, &side{run: func() error { return wrong }}); err != wrong {
		t.Errorf("error %v, expected %v", err, wrong)
	}
}
