package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name  string
		after []time.Duration // the ticks
		want  string
	}{
		{"short work has no bar", []time.Duration{0, 900 * time.Millisecond}, ""},
		{"long work has one, and it goes", []time.Duration{900 * time.Millisecond, 2 * time.Second},
			"\r[" + strings.Repeat("#", 15) + strings.Repeat(" ", 15) + "] main_0, runs, 2 s" + "\r" + strings.Repeat(" ", 50) + "\r"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var screen bytes.Buffer
			ticks := make(chan time.Time)
			released := false
			p := startProgress(&screen, ticks, func() { released = true })
			p.set(5, 10, "main_0, runs")
			start := time.Now()
			for _, d := range c.after {
				ticks <- start.Add(d)
			}
			p.end()
			p.end()
			if got := screen.String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if !released {
				t.Error("the clock is not released")
			}
		})
	}
}

func TestProgressFitsALine(t *testing.T) {
	var screen bytes.Buffer
	ticks := make(chan time.Time)
	p := startProgress(&screen, ticks, nil)
	p.set(20, 10, strings.Repeat("é\x1b", 100))
	ticks <- time.Now().Add(2 * progressDelay)
	p.end()
	line, _, _ := strings.Cut(screen.String()[1:], "\r")
	if n := len([]rune(line)); n != 79 || strings.Contains(line, "\x1b") {
		t.Errorf("the line has %d characters: %q", n, line)
	}
}

func TestProgressWithoutTerminal(t *testing.T) {
	p := newProgress(nil)
	p.set(1, 2, "x")
	p.end()
}

func TestTerminalOf(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if terminalOf(file) != nil || terminalOf(&bytes.Buffer{}) != nil {
		t.Error("a file and a buffer are no terminals")
	}
}

// A run on a terminal says what it does, and takes the line away before it prints.
func TestRunShowsProgress(t *testing.T) {
	screen, ticks, stop := &bytes.Buffer{}, make(chan time.Time), make(chan bool)
	bar := startProgress(screen, ticks, nil)
	go func() { // a clock on which every moment is late
		for {
			select {
			case ticks <- time.Now().Add(time.Hour):
			case <-stop:
				return
			}
		}
	}()
	defer close(stop)
	var stdout bytes.Buffer
	call := &invocation{Context: t.Context(), args: []string{"run"}, bar: bar, stdout: beforeText{&stdout, bar}}
	run := &runCmd{Model: "../../testdata/models/conv2d_basic/model.mlpackage", modelFlags: modelFlags{Units: "all"}, Repeat: 500}
	run.Input = []string{"random"}
	if err := run.Run(call); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`\r\[#* *\] run \d+ of 500, \d+ s`).MatchString(screen.String()) {
		t.Errorf("the runs were never shown: %q", screen)
	}
	if last := screen.String(); !strings.HasSuffix(last, " \r") {
		t.Errorf("the line stays: %q", last[max(0, len(last)-100):])
	}
}
