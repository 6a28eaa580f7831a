package espalier

import (
	"time"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A PassReport is about a pass of the compiler over a segment.
type PassReport struct {
	Segment string
	Pass    string
	Phase   string
	Took    time.Duration
	// Text says what the pass did: the native layers as it left them, their order, or where everything lies. Layers are the
	// native layers alone, Memory is where everything lies, and Picture draws that over the tasks, as SVG; both "" before
	// it is known. All are valid during the call.
	Text, Layers, Memory, Picture func() string

	// LayersWith are the native layers with what large says for the bytes of each large constant, which Layers leaves out.
	LayersWith func(large func(data []byte) string) string
}

// tracer makes what the compiler tells of its passes of what wants to hear of them; nil if nothing does.
func tracer(tell func(PassReport)) func(*compiler.Pass, *segment.Segment, time.Duration) {
	if tell == nil {
		return nil
	}
	planned := func(s *segment.Segment, text func(*segment.Segment) string) func() string {
		return func() string {
			if s.Plan == nil {
				return ""
			}
			return text(s)
		}
	}
	return func(p *compiler.Pass, s *segment.Segment, took time.Duration) {
		tell(PassReport{
			Segment: s.Name, Pass: p.Name, Phase: p.Phase.String(), Took: took,
			Text:       func() string { return p.Text(s) },
			Layers:     func() string { return anec.Print(s.Graph) },
			LayersWith: func(large func([]byte) string) string { return anec.PrintWith(s.Graph, large) },
			Memory:     planned(s, segment.MemoryText),
			Picture:    planned(s, segment.Picture),
		})
	}
}
