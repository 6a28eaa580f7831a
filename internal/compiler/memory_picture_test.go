package compiler

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/internal/segment"
)

// The pictures of all small graphs are well-formed, the same each time, and show every task and every value that stays on
// chip.
func TestPictures(t *testing.T) {
	for _, folder := range []string{"memory", "schedule"} {
		archives(t, folder, func(archive *txtar.Archive) {
			graph, target := string(archive.Files[0].Data), targetOf(t, archive)
			s := planFor(t, target, graph, 0)
			s.Name = "a<b" // what stands in a name is no markup
			text := segment.Picture(s)
			again := planFor(t, target, graph, 2)
			again.Name = s.Name
			if text != segment.Picture(again) {
				t.Errorf("%s: two pictures differ", s.Graph.Name)
			}
			titles := 0
			for d := xml.NewDecoder(strings.NewReader(text)); ; {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v\n%s", s.Graph.Name, err, text)
				}
				if e, ok := token.(xml.StartElement); ok && e.Name.Local == "title" {
					titles++
				}
			}
			want := len(s.Plan.Layers)
			if oc := s.Plan.OnChip; oc != nil {
				for _, v := range oc.Values {
					if v.State.OnChip() {
						want++
					}
				}
			}
			if titles < want {
				t.Errorf("%s: %d titles, want %d or more", s.Graph.Name, titles, want)
			}
		})
	}
}
