package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/report"
)

const (
	progressDelay = time.Second            // work that takes less needs no bar
	progressEvery = 100 * time.Millisecond // it is drawn
	progressWidth = 30                     // characters of the bar itself
)

// A progress is a line on a terminal that says how far long work is:
//
//	[##########                    ] main_0, runs, 12 s
//
// It comes when the work has taken a second, and goes when it is done. Without a terminal it does nothing.
type progress struct {
	w    io.Writer
	stop chan struct{} // closed by end
	gone chan struct{} // closed when nothing more is drawn
	once sync.Once

	mu          sync.Mutex
	done, total int
	what        string
}

// newProgress makes a progress on a terminal, nil for none.
func newProgress(terminal io.Writer) *progress {
	if terminal == nil {
		return startProgress(nil, nil, nil)
	}
	ticker := time.NewTicker(progressEvery)
	return startProgress(terminal, ticker.C, ticker.Stop)
}

// startProgress makes a progress that is drawn at ticks, which tell the time; release, if there is one, ends them.
func startProgress(w io.Writer, ticks <-chan time.Time, release func()) *progress {
	p := &progress{w: w, stop: make(chan struct{}), gone: make(chan struct{})}
	if w == nil {
		close(p.gone)
		return p
	}
	start := time.Now()
	go func() {
		defer close(p.gone)
		if release != nil {
			defer release()
		}
		shown := 0 // characters of the line on the terminal
		defer func() {
			if shown > 0 {
				fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", shown))
			}
		}()
		for {
			select {
			case <-p.stop:
				return
			case now := <-ticks:
				if took := now.Sub(start); took >= progressDelay {
					shown = p.draw(shown, took)
				}
			}
		}
	}()
	return p
}

// draw draws the line over one of so many characters, and returns how many it has.
func (p *progress) draw(over int, took time.Duration) int {
	p.mu.Lock()
	filled := progressWidth * p.done / max(p.total, 1)
	line := fmt.Sprintf("[%s%s] %s", strings.Repeat("#", filled), strings.Repeat(" ", progressWidth-filled), report.Printable(p.what))
	p.mu.Unlock()
	const widest = 79 // a longer line would wrap, and stay
	end := []rune(fmt.Sprintf(", %d s", int(took.Seconds())))
	runes := []rune(line)
	runes = append(runes[:min(len(runes), widest-len(end))], end...)
	fmt.Fprintf(p.w, "\r%s%s", string(runes), strings.Repeat(" ", max(0, over-len(runes))))
	return len(runes)
}

// set says how much is done, of how much, and what comes.
func (p *progress) set(done, total int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.what = min(done, total), total, what
}

// passes returns what shows the passes of the compiler as they end: each by what comes after it.
func (p *progress) passes() func(espalier.PassReport) {
	passes := espalier.Passes()
	place := map[string]int{}
	for i, pass := range passes {
		place[pass.Name] = i + 1
	}
	return func(r espalier.PassReport) {
		done := place[r.Pass]
		p.set(done, len(passes), fmt.Sprintf("compiling %s, %s", r.Segment, passes[min(done, len(passes)-1)].Name))
	}
}

// end removes the line. Further calls do nothing.
func (p *progress) end() {
	p.once.Do(func() { close(p.stop) })
	<-p.gone
}

// beforeText is a writer of what a command has to say, before which the line goes.
type beforeText struct {
	io.Writer
	bar *progress
}

func (b beforeText) Write(text []byte) (int, error) {
	b.bar.end()
	return b.Writer.Write(text)
}

// terminalOf is a writer if it is a terminal that can go back in its line; nil if not.
func terminalOf(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return f
}
