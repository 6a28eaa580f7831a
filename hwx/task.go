package hwx

import (
	"errors"
	"fmt"

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

// Tasks decodes the task stream. The tasks follow each other as their links
// say, and are as many as the program counts.
func (f *File) Tasks() ([]td.Placed, error) {
	target, err := f.Target()
	if err != nil {
		return nil, err
	}
	p, err := f.Program()
	if err != nil {
		return nil, err
	}
	text := f.Text()
	tasks, err := td.DecodeStream(td.Version(target.TaskVersion), text.Data, int(p.FirstTask-text.Addr), p.FirstTaskWords)
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

// SetTasks fills in what a Spec has of a list of tasks: the text, how many there
// are, and the length of the first.
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
	s.Text, s.Tasks, s.FirstTaskWords = text, len(tasks), len(first)
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
