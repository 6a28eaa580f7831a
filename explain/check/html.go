package check

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var pageText string

// page is the form of the report for a browser: one file that needs no other.
var page = template.Must(template.New("page").Parse(pageText))

// WriteHTML writes the report as a page: the targets with pictures of their segments, the findings, and a matrix of
// operations by targets.
func (r *Report) WriteHTML(w io.Writer) error {
	view := pageView{Model: printable(r.Model), Generator: template.HTML(htmlMark)}
	for i, f := range r.Functions {
		view.Functions = append(view.Functions, r.view(f, i))
	}
	return page.Execute(w, view)
}

// The views are what the template shows.

type pageView struct {
	Model     string
	Generator template.HTML
	Functions []functionView
}

type functionView struct {
	Index      int
	Name       string
	Summary    string
	Targets    []targetView
	Notes      []string  // on names
	Columns    []*Target // of the matrix
	Findings   []*Group
	Operations []operationView
}

type targetView struct {
	Name, Chip    string
	Whole         bool
	Outcome, Time string
	Authored      string
	Segments      []segmentView
	Picture       string // what the picture shows, for those who do not see it
}

// A segmentView is a box of the picture: Left and Width in percent.
type segmentView struct {
	Left, Width float64
	Top         int
	Host        bool
	Title       string
}

type operationView struct {
	Index      int
	Kind, Name string
	Where      string
	Cells      []cellView
	Plain      bool // nothing was found about it
}

type cellView struct {
	Class, Mark, Title string
}

// The lanes of the picture of segments.
const (
	engineLane = 2
	hostLane   = 20
)

func (r *Report) view(f *Function, index int) functionView {
	v := functionView{Index: index, Name: shortName(f.Name), Summary: r.summary(f), Findings: f.Groups(), Operations: f.matrix(), Columns: f.Targets}
	for _, l := range r.lines(f) {
		v.Targets = append(v.Targets, l.view(f))
	}
	v.Notes = r.notes(f)
	return v
}

// view draws the segments in the order in which they run, as wide as they have operations:
//
//	engine  ████████      ██████
//	host            ▒▒▒▒▒▒
func (t line) view(f *Function) targetView {
	v := targetView{Name: t.name, Chip: t.chip, Whole: t.Whole(), Outcome: t.Outcome(f), Time: t.Time(), Authored: t.Authoring(f)}
	// A segment of one operation beside one of a thousand is to be seen too.
	const least = 1.5 // percent
	total, sum := 0, 0.0
	for _, s := range t.Segments {
		total += len(s.Operations)
	}
	width := func(s Segment) float64 { return max(least, 100*float64(len(s.Operations))/float64(max(total, 1))) }
	for _, s := range t.Segments {
		sum += width(s)
	}
	left := 0.0
	var told []string
	for i, s := range t.Segments {
		box := segmentView{Left: left, Width: 100 * width(s) / sum, Top: engineLane, Host: s.Backend == Host}
		if box.Host {
			box.Top = hostLane
		}
		left += box.Width
		box.Title = fmt.Sprintf("segment %d, %s: %s", i+1, s.Backend, count(len(s.Operations), "operation"))
		if len(s.Operations) > 0 {
			first, last := f.Operations[s.Operations[0]], f.Operations[s.Operations[len(s.Operations)-1]]
			box.Title += fmt.Sprintf(", %s to %s", shortName(first.Name), shortName(last.Name))
		}
		v.Segments = append(v.Segments, box)
		told = append(told, fmt.Sprintf("%s %d", s.Backend, len(s.Operations)))
	}
	v.Picture = "segments in order, with their operations: " + some(told, 12)
	return v
}

// matrix has a row for each operation and a cell for each target.
func (f *Function) matrix() []operationView {
	type cell struct{ operation, target int }
	found := map[cell][]*Finding{}
	indexOf := f.places()
	for j, t := range f.Targets {
		for _, x := range t.Findings {
			at := cell{indexOf(x.Place), j}
			found[at] = append(found[at], x)
		}
	}
	rows := make([]operationView, len(f.Operations))
	for i, o := range f.Operations {
		row := operationView{Index: i + 1, Kind: o.Kind, Name: shortName(o.Name), Where: printable(o.Origin), Plain: true}
		if o.Line > 0 {
			row.Where = strings.TrimSpace(fmt.Sprintf("line %d %s", o.Line, row.Where))
		}
		for j, t := range f.Targets {
			c := t.Places[i].cell()
			these := found[cell{i, j}]
			for _, x := range these {
				c.Title += fmt.Sprintf("; %s: %s", x.ID, printable(x.Text))
				if x.Severity == Hazard && !strings.HasSuffix(c.Mark, "!") {
					c.Mark += "!"
				}
			}
			if len(these) > 0 {
				row.Plain = false
				c.Title = t.Name + ": " + c.Title
			} else {
				c.Title = "" // the legend says it
			}
			row.Cells = append(row.Cells, c)
		}
		rows[i] = row
	}
	return rows
}

// cell is the mark of a place. The marks differ in shape, so that they are told apart without colours.
func (p Place) cell() cellView {
	switch {
	case p.Backend == Boundary:
		return cellView{"b", "▷", "cast at the boundary"}
	case p.Backend == Host:
		return cellView{"h", "✕", "on the host, " + p.Status}
	case p.Backend == Nowhere:
		return cellView{"h", "✕", "not taken, " + p.Status}
	case p.Status == "native":
		return cellView{"n", "●", "on the engine, native"}
	}
	return cellView{"s", "◐", "on the engine, " + p.Status}
}
