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

// Tasks decodes the task stream. The tasks follow each other as their links
// say, and are as many as the program counts.
func (f *File) Tasks() ([]td.Placed, error) {
	version, err := f.TaskVersion()
	if err != nil {
		return nil, err
	}
	p, err := f.Program()
	if err != nil {
		return nil, err
	}
	text := f.Text()
	tasks, err := td.DecodeStream(version, text.Data, int(p.FirstTask-text.Addr), p.FirstTaskWords)
	if err != nil {
		// td counts from the beginning of the text.
		var format *td.FormatError
		if errors.As(err, &format) {
			return nil, damage(int64(text.Offset)+format.Offset, "task %d: %s", max(format.Task, 0), format.Msg)
		}
		return nil, err
	}
	if len(tasks) != p.Tasks {
		return nil, damage(f.offsetOf(p.Thread)+0x81c, "%d tasks are linked, the program counts %d", len(tasks), p.Tasks)
	}
	return tasks, nil
}

// SetTasks fills in what a Spec has of a list of tasks, which are of one version:
// the text, how many there are, the length of the first, and the version.
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
	for i, t := range tasks {
		if t.Version != tasks[0].Version {
			return fmt.Errorf("task %d is of %v, task 0 of %v", i, t.Version, tasks[0].Version)
		}
	}
	s.Text, s.Tasks, s.FirstTaskWords, s.TaskVersion = text, len(tasks), len(first), tasks[0].Version
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

// KernelRelocs are the offsets of the words that a version-7 text needs
// relocated: of each kernel stream that is on and counts from the base of the
// constants, the register with its offset (h13 1.4).
func KernelRelocs(tasks []td.Placed) []uint32 {
	var relocs []uint32
	for _, t := range tasks {
		base, _ := t.Get(td.V7KernelBase[0])
		enabled, _ := t.Get(td.V7KernelBaseEnable[0])
		if t.Version != td.V7 || enabled == 0 || base != BaseConst {
			continue
		}
		for i := range td.V7KernelChannel {
			c := &td.V7KernelChannel[i]
			on, _ := t.Get(c.Config.Enable)
			if word := wordOf(t.Task, c.Offset.Addr); on != 0 && word >= 0 {
				relocs = append(relocs, uint32(t.Offset+4*word))
			}
		}
	}
	return relocs
}

// wordOf is the index of the word, in an encoded task, that is written to a
// register, or -1.
func wordOf(t *td.Task, register uint32) int {
	at := len(t.Header)
	for _, r := range t.Records {
		at++ // the record's head
		if i := (register - r.Addr) / 4; register >= r.Addr && i < uint32(len(r.Words)) {
			return at + int(i)
		}
		at += len(r.Words)
	}
	return -1
}
