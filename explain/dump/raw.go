package dump

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// rawSpan is a run of bytes that --raw lists by itself.
type rawSpan struct {
	offset, size int64
	title        string
	address      uint64 // of its first byte in the engine's memory
	mapped       bool   // it has an address
}

// ErrFolder is wrapped by the error that a folder has no words.
var ErrFolder = errors.New("a folder has no words; its files can be dumped one by one")

// Raw writes the words of a file in hexadecimal, with their places. A container comes region by region, its tasks with the
// registers that the words are written to. The file may be damaged.
func Raw(w io.Writer, path string) error {
	f, _, err := open(path)
	if err != nil {
		return err
	}
	if f.data == nil {
		return f.named(ErrFolder)
	}
	b := bufio.NewWriter(w)
	f.writeRaw(b)
	return errors.Join(b.Flush(), f.close())
}

func (f *file) writeRaw(w *bufio.Writer) {
	fmt.Fprintf(w, "%s\n  %s, %s bytes\n", report.Printable(f.File), f.Format, report.Thousands(len(f.data)))
	if !hwx.IsContainer(f.data) {
		writeWords(w, f.data, rawSpan{size: int64(len(f.data))})
		return
	}
	c, err := hwx.NewFile(f.data)
	var regions []hwx.Region
	if err == nil {
		regions, err = c.Regions()
	}
	if err != nil { // damaged: the words are all there is to show
		writeWords(w, f.data, rawSpan{size: int64(len(f.data))})
		return
	}
	tasks := tasksOf(c)
	for _, r := range regions {
		span := rawSpan{offset: r.Offset, size: r.Size, title: regionTitle(r)}
		section := sectionAt(c, r)
		if section != nil {
			span.address, span.mapped = section.Addr, true
		}
		if list := tasks[section]; list != nil {
			fmt.Fprintf(w, "%s\n", report.Printable(span.title))
			writeTaskWords(w, f.data, section, list)
			continue
		}
		writeWords(w, f.data, span)
	}
}

// tasksOf are the tasks by the section that they are in, of the procedures whose tasks can be read.
func tasksOf(c *hwx.File) map[*hwx.Section][]td.Placed {
	tasks := map[*hwx.Section][]td.Placed{}
	procedures, _ := c.Procedures()
	for _, p := range procedures {
		if list, err := p.Tasks(); err == nil {
			tasks[p.Text] = list
		}
	}
	return tasks
}

// writeTaskWords lists the words of the text, each with the register that it is written to, and what is not
// zero between the tasks.
func writeTaskWords(w *bufio.Writer, data []byte, text *hwx.Section, tasks []td.Placed) {
	slices.SortFunc(tasks, func(a, b td.Placed) int { return cmp.Compare(a.Offset, b.Offset) })
	start := int64(text.Offset)
	at := start
	between := func(end int64) {
		if len(bytes.Trim(data[at:end], "\x00")) > 0 {
			writeWords(w, data, rawSpan{offset: at, size: end - at, title: "  between tasks", address: text.Addr + uint64(at-start), mapped: true})
		}
		at = end
	}
	for i, t := range tasks {
		between(start + int64(t.Offset))
		fmt.Fprintf(w, "  task %d\n", i)
		line := func(place string) {
			fmt.Fprintf(w, "  %08x  %08x  %-9s  %08x\n", at, text.Addr+uint64(at-start), place, binary.LittleEndian.Uint32(data[at:]))
			at += 4
		}
		for j := range t.Header {
			line(fmt.Sprintf("header %d", j))
		}
		for _, rec := range t.Records {
			line(report.Count(len(rec.Words), "word"))
			for j := range rec.Words {
				line(report.Register(rec.Addr + 4*uint32(j)))
			}
		}
	}
	between(start + int64(text.Size))
}

const rawLine = 16 // bytes in a line

// writeWords lists the words of a span, and the bytes that do not make a word. Lines that are the same as the
// one before are left out.
func writeWords(w *bufio.Writer, data []byte, s rawSpan) {
	if s.title != "" {
		fmt.Fprintf(w, "%s\n", report.Printable(s.title))
	}
	var before string
	left := 0
	for at := int64(0); at < s.size; at += rawLine {
		line := data[s.offset+at : s.offset+min(at+rawLine, s.size)]
		last := at+rawLine >= s.size
		if string(line) == before && !last {
			left++
			continue
		}
		if left > 0 {
			fmt.Fprintf(w, "  … %s the same\n", report.Count(left, "line"))
		}
		before, left = string(line), 0
		fmt.Fprintf(w, "  %08x", s.offset+at)
		if s.mapped {
			fmt.Fprintf(w, "  %08x", s.address+uint64(at))
		}
		fmt.Fprint(w, " ")
		for len(line) >= 4 {
			fmt.Fprintf(w, " %08x", binary.LittleEndian.Uint32(line))
			line = line[4:]
		}
		for _, b := range line {
			fmt.Fprintf(w, " %02x", b)
		}
		fmt.Fprintln(w)
	}
}
