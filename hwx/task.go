package hwx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/td"
)

// Target is the row of the engine that the container is for, by its CPU
// subtype.
func (f *File) Target() (*hal.Target, error) {
	t, err := hal.BySubtype(f.Header.CPUSubtype)
	if err != nil {
		return nil, damage(8, "%v", err)
	}
	return t, nil
}

// taskVersionLine begins the line of the banner that says of which version the
// tasks are, where the target's own is another.
const taskVersionLine = "espalier: tasks of version "

// TaskVersion is the version of the tasks: that of the target, unless the banner
// says another. A container of ours for a chip whose registers nobody knows has
// tasks of version 256, and says so.
func (f *File) TaskVersion() (td.Version, error) {
	for line := range strings.Lines(f.Banner()) {
		if number, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), taskVersionLine); ok {
			v, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				return 0, damage(f.bannerOffset(), "the banner has tasks of version %q; want a number", number)
			}
			return td.Version(v), nil
		}
	}
	t, err := f.Target()
	if err != nil {
		return 0, err
	}
	return td.Version(t.TaskVersion), nil
}

// bannerOffset is the place of the banner in the file.
func (f *File) bannerOffset() int64 {
	for c := range all[*Ident](f) {
		return f.offsetOf(c)
	}
	return headerSize
}

// banner is what a container says of us, and of its tasks if they are not of
// the target's version.
func (s *Spec) banner() string {
	if t, err := hal.BySubtype(s.Subtype); s.TaskVersion == 0 || err == nil && td.Version(t.TaskVersion) == s.TaskVersion {
		return defaultBanner
	}
	return fmt.Sprintf("%s%s%d\n", defaultBanner, taskVersionLine, s.TaskVersion)
}

// Tasks decodes the task stream of a container with one program.
func (f *File) Tasks() ([]td.Placed, error) {
	if _, err := f.TaskVersion(); err != nil {
		return nil, err
	}
	p, err := f.Procedure("")
	if err != nil {
		return nil, err
	}
	return p.Tasks()
}

// Tasks decodes the task stream. The tasks follow each other as their links say,
// and are as many as the program counts. Links and offsets count from the text.
func (p *Procedure) Tasks() ([]td.Placed, error) {
	version, err := p.file.TaskVersion()
	if err != nil {
		return nil, err
	}
	foreign, err := p.foreign()
	if err != nil {
		return nil, err
	}
	tasks, err := td.DecodeMixed(version, p.Text.Data, int(p.Program.FirstTask-p.Text.Addr), p.Program.FirstTaskWords, foreign)
	if err != nil {
		// td counts from the beginning of the text.
		var format *td.FormatError
		if errors.As(err, &format) {
			return nil, damage(int64(p.Text.Offset)+format.Offset, "task %d: %s", max(format.Task, 0), format.Msg)
		}
		return nil, err
	}
	if len(tasks) != p.Program.Tasks {
		return nil, damage(p.at+0x81c, "%d tasks are linked, the program counts %d", len(tasks), p.Program.Tasks)
	}
	return tasks, nil
}

// foreignSection, in __TEXT, has the numbers of the tasks that are of version 256
// in a program of another version which cannot carry these otherwise: words of 32
// bits, rising. It is ours.
const foreignSection = "__espalier"

// foreign reads the tasks that are not of the container's version.
func (p *Procedure) foreign() (map[int]td.Version, error) {
	s := p.section("__TEXT", foreignSection)
	if s == nil {
		return nil, nil
	}
	foreign, last := map[int]td.Version{}, -1
	for at := 0; at < len(s.Data); at += 4 {
		if len(s.Data)-at < 4 {
			return nil, damage(int64(s.Offset)+int64(at), "%s: %d bytes after the last number", foreignSection, len(s.Data)-at)
		}
		task := le.Uint32(s.Data[at:])
		if int64(task) <= int64(last) || int64(task) >= int64(p.Program.Tasks) {
			return nil, damage(int64(s.Offset)+int64(at), "%s: task %d after %d, of %d tasks", foreignSection, task, last, p.Program.Tasks)
		}
		last = int(task)
		foreign[last] = td.V256
	}
	return foreign, nil
}

// SetTasks fills in what a Spec has of a list of tasks: the text, how many there
// are, the length of the first, and the version. Tasks are of one version, but for
// those of version 256 in between.
func (s *Spec) SetTasks(tasks []*td.Task) error {
	if len(tasks) == 0 {
		return errors.New("nothing to do: a program has one task or more")
	}
	text, err := td.EncodeStream(tasks)
	if err != nil {
		return err
	}
	first, err := tasks[0].Encode()
	if err != nil {
		return fmt.Errorf("task 0: %w", err)
	}
	version := td.V256
	s.Foreign = nil
	for i, t := range tasks {
		switch {
		case t.Version == td.V256:
			s.Foreign = append(s.Foreign, uint32(i))
		case version != td.V256 && t.Version != version:
			return fmt.Errorf("task %d is of %v, others of %v", i, t.Version, version)
		default:
			version = t.Version
		}
	}
	if version == td.V256 {
		s.Foreign = nil
	}
	s.Text, s.Tasks, s.FirstTaskWords, s.TaskVersion = text, len(tasks), len(first), version
	return nil
}

// offsetOf is the place of a command in the file.
func (f *File) offsetOf(command Command) int64 {
	for at, c := range f.placed() {
		if c == command {
			return at
		}
	}
	return headerSize
}

// KernelRelocs are the offsets of the words that a text needs relocated: of each
// kernel stream that is on and counts from the base of the constants, the register
// with its offset (h13 1.4).
func KernelRelocs(tasks []td.Placed) []uint32 {
	var relocs []uint32
	for _, t := range tasks {
		kernels := td.LayoutOf(t.Version).Kernels
		if kernels == nil {
			continue
		}
		base, _ := t.Get(kernels.Base)
		enabled, _ := t.Get(kernels.Enable)
		if enabled == 0 || base != BaseConst {
			continue
		}
		for _, s := range kernels.Streams {
			on, _ := t.Get(s.Enable)
			if word := t.WordOf(s.Offset); on != 0 && word >= 0 {
				relocs = append(relocs, uint32(t.Offset+4*word))
			}
		}
	}
	return relocs
}
