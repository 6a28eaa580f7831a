// Package dump explains files: hardware containers down to the words of their tasks, dispatch descriptors, bundles, firmware
// containers, models, MIL text, graphs of native layers, weight files and arrays. What a file is, its content says, not its name.
//
//	r, err := dump.File("net.hwx")
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	for _, t := range r.Content.(*dump.Container).Tasks {
//		fmt.Println(t.What)
//	}
//
// What the bytes of a format mean, its own package knows; this one puts it into reports for people and for programs.
package dump

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
)

// A Report is what is in a file. Parts of it lie in the file's memory until it is closed.
type Report struct {
	Head
	Content Content

	opened []io.Closer
}

// Head begins the report of every format.
type Head struct {
	File   string `json:"file"` // the path
	Format string `json:"format"`
	Size   int64  `json:"size"`
}

// Content is what a file has by its format: a *Container, *Descriptor, *Bundle, *Firmware, *Model, *Graphs, *WeightFile or *Arrays. These
// types are the schema of dump --json: docs/json.md explains their fields.
type Content interface {
	writeText(w *bufio.Writer, h *Head)
}

// File explains a file, or a folder that is a bundle or a model. Of one that is damaged there may be a report beside the error: what
// comes before the damage.
func File(path string) (*Report, error) {
	f, explain, err := open(path)
	if err != nil {
		return nil, err
	}
	content, err := explain(f)
	if content == nil {
		return nil, errors.Join(err, f.close())
	}
	return &Report{f.Head, content, f.opened}, err
}

// Close frees the file. What the report has of it must not be used any more.
func (r *Report) Close() (err error) {
	for _, o := range r.opened {
		err = errors.Join(err, o.Close())
	}
	r.opened = nil
	return err
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.Content.writeText(b, &r.Head)
	return b.Flush()
}

// WriteJSON writes the report by the schema of docs/json.md.
func (r *Report) WriteJSON(w io.Writer) error {
	compact, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	return report.Indent(w, compact)
}

// MarshalJSON has the fields of the content after those of the head.
func (r *Report) MarshalJSON() ([]byte, error) {
	head, err := report.Marshal(r.Head)
	if err != nil {
		return nil, err
	}
	content, err := report.Marshal(r.Content)
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), content[1:]...), nil
}

// writeText writes what the file is.
func (h *Head) writeText(w *bufio.Writer, more ...string) {
	facts := append([]string{h.Format}, more...)
	if h.Size > 0 {
		facts = append(facts, report.Thousands(int(h.Size))+" bytes")
	}
	fmt.Fprintf(w, "%s\n  %s\n", report.Printable(h.File), report.Printable(strings.Join(facts, ", ")))
}
