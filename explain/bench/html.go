package bench

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
)

//go:embed page.html
var pageText string

// page is the report for a browser: one file that needs no other, and no script.
var page = template.Must(template.New("page").Parse(pageText))

// pageView is what the template shows.
type pageView struct {
	Model, Facts string
	Notes        []string
	Picture      template.HTML // "" if there is none
	Hidden       string        // how many tasks are not in it; "" if none
	Sections     []pageSection
	Tasks        *pageSection // numbered as in the picture
}

type pageSection struct {
	Title  string
	Titles []string
	Rows   [][]string
	Bounds []Bound // by row, of tasks
}

func newPageSection(title string, rows [][]string) pageSection {
	return pageSection{Title: title, Titles: rows[0], Rows: rows[1:]}
}

// WriteHTML writes the report as a page, with a picture of the tasks under the roofline.
func (r *Report) WriteHTML(w io.Writer) error {
	v := pageView{Model: report.Printable(r.Model), Facts: report.Printable(r.facts())}
	for _, file := range r.RandomWeights {
		v.Notes = append(v.Notes, report.Printable(file)+" is absent: its weights are random")
	}
	if r.Interrupted {
		v.Notes = append(v.Notes, "interrupted: what was not measured is left out")
	}
	for _, s := range r.sections() {
		v.Sections = append(v.Sections, newPageSection(s.title, s.rows))
	}
	if p := r.Profile; p != nil {
		if r.Roofline != nil && len(p.Tasks) > 0 {
			v.Picture = picture(r.Roofline, p.Tasks)
			hidden := 0
			for i := range p.Tasks {
				if !drawn(&p.Tasks[i]) {
					hidden++
				}
			}
			if hidden > 0 {
				v.Hidden = report.Count(hidden, "task")
			}
		}
		v.Tasks = p.section()
		if len(p.Host) > 0 {
			rows := [][]string{{"ms", "share", "segment", "operations"}}
			for _, s := range p.Host {
				rows = append(rows, []string{fmt.Sprintf("%.3f", s.TotalMS/float64(max(s.Runs, 1))), percent(s.Share), s.Segment, strings.Join(s.Operations, " ")})
			}
			v.Sections = append(v.Sections, newPageSection("segments on the host", rows))
		}
	}
	if c := r.Compared; c != nil {
		v.Sections = append(v.Sections, newPageSection("against "+report.Printable(c.Before)+": a ratio above 1 is better now", ratioRows(c.Figures)))
		if len(c.Tasks) > 0 {
			v.Sections = append(v.Sections, newPageSection("tasks against "+report.Printable(c.Before), ratioRows(c.Tasks)))
		}
	}
	return page.Execute(w, v)
}

// section is the table of all tasks.
func (p *Profile) section() *pageSection {
	if len(p.Tasks) == 0 {
		return nil
	}
	s := &pageSection{Title: "tasks", Titles: append([]string{"#"}, taskTitles(&p.Tasks[0])...)}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		s.Rows = append(s.Rows, append([]string{fmt.Sprint(i + 1)}, t.cells(float64(max(p.Runs, 1)))...))
		s.Bounds = append(s.Bounds, t.Bound)
	}
	return s
}
