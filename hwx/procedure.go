package hwx

import (
	"fmt"
	"slices"
	"strings"
)

// A Procedure is a program of a container as one that can be called: its tasks,
// its base-address table, its ports. All 17 real files have one, and then all
// that the file has is the procedure's. How several share a file is ours:
//
//	program thread "encode"   bases ─┬─ __DATA    its own scratch and derived memory
//	  tensor threads of          │   ├─ __TEXT    its own tasks, from entry 0 on, and constants
//	  network "encode"       symbols ├─ __FVMLIB  windows of ports, each with its symbol:
//	program thread "decode"   bases ─┤            one for both where both have the same port
//	  …                              └─ __KERN_n  kernel streams and weights, once
//
// A tensor belongs to the program whose name its network has, as in real files. A
// port's window is found by the program's own table.
type Procedure struct {
	Index   int // in File.Procedures: what set-active and a request name
	Name    string
	Program *Program
	Text    *Section // its tasks

	file *File
	at   int64 // of its thread
	only bool  // it has the file for itself
}

// maxProcedures is how many programs a container may have: each has a text, and
// symbols count sections by a byte.
const maxProcedures = 255

// Procedures lists the programs of a container, in file order. Where there are
// several, each has a name and tasks of its own, memory that belongs to one is
// in the table of no other, and every tensor belongs to one of them.
func (f *File) Procedures() ([]*Procedure, error) {
	var list []*Procedure
	for at, c := range f.placed() {
		t, ok := c.(*ProgramThread)
		if !ok {
			continue
		}
		if len(list) == maxProcedures {
			return nil, damage(at, "more than %d programs", maxProcedures)
		}
		list = append(list, &Procedure{
			Index: len(list), Name: t.Name(), file: f, at: at,
			Program: &Program{
				Name: t.Name(), FirstTask: t.FirstTask, FirstTaskWords: int(t.FirstTaskWords) + 1,
				Tasks: int(t.Tasks), Bases: &t.Bases, Thread: t,
			},
		})
	}
	switch len(list) {
	case 0:
		return nil, damage(headerSize, "no program thread among the %d load commands", len(f.Commands))
	case 1:
		list[0].only, list[0].Text = true, f.Text()
	default:
		if err := f.separate(list); err != nil {
			return nil, err
		}
	}
	for _, p := range list {
		if err := p.checkText(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Procedure finds a program by its name; "" is the only one that there is.
func (f *File) Procedure(name string) (*Procedure, error) {
	list, err := f.Procedures()
	if err != nil {
		return nil, err
	}
	if name == "" && len(list) == 1 {
		return list[0], nil
	}
	var names []string
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if name == "" {
		return nil, damage(list[1].at, "a second program; want one: there are %s", strings.Join(names, ", "))
	}
	if len(list) == 1 {
		return nil, fmt.Errorf("its procedure is %q, and %q is asked for", names[0], name)
	}
	return nil, fmt.Errorf("its procedures are %s, and %q is asked for", strings.Join(names, ", "), name)
}

// separate gives each of several programs its text, and holds them apart.
func (f *File) separate(list []*Procedure) error {
	begins := f.begins()
	byName := make(map[string]*Procedure)
	owner := make(map[*Section]*Procedure) // of what one alone may have
	own := func(p *Procedure, entry int, s *Section) error {
		if other := owner[s]; other != nil && other != p {
			return damage(p.at+threadHeadSize+8*int64(entry), "program %q: entry %d is section %s,%s at 0x%x, which belongs to program %q", p.Name, entry, s.Segment, s.Name, s.Addr, other.Name)
		}
		owner[s] = p
		return nil
	}
	for _, p := range list {
		switch {
		case p.Name == "":
			return damage(p.at, "one of %d programs has no name", len(list))
		case byName[p.Name] != nil:
			return damage(p.at, "a second program named %q", p.Name)
		}
		byName[p.Name] = p
		text := begins[p.Program.Bases[BaseText]]
		if text == nil || text.Segment.String() != "__TEXT" || text.Name.String() != "__text" {
			return damage(p.at+threadHeadSize, "program %q: entry 0 is address 0x%x, where no section __TEXT,__text begins", p.Name, p.Program.Bases[BaseText])
		}
		p.Text = text
		for _, s := range p.textSegment().Sections {
			if err := own(p, BaseText, s); err != nil {
				return err
			}
		}
	}
	for _, p := range list {
		for i, addr := range p.Program.Bases {
			if addr == 0 {
				continue
			}
			s := begins[addr]
			if s == nil {
				return damage(p.at+threadHeadSize+8*int64(i), "program %q: entry %d is address 0x%x, where no section begins", p.Name, i, addr)
			}
			if s.Segment.String() == "__TEXT" || s.Flags == SectionScratch || s.Flags == SectionDerived {
				if err := own(p, i, s); err != nil {
					return err
				}
			}
		}
	}
	for at, c := range f.placed() {
		if t, ok := c.(*TensorThread); ok && byName[t.Network()] == nil {
			return damage(at+0x18, "tensor %q belongs to %q, which none of the %d programs is named", t.Name(), t.Network(), len(list))
		}
	}
	return nil
}

// File is the container.
func (p *Procedure) File() *File { return p.file }

// checkText sees that the first task is in the text.
func (p *Procedure) checkText() error {
	text, thread := p.Text, p.Program.Thread
	if text == nil || text.Data == nil {
		return damage(p.at, "no section __TEXT,__text for the tasks of program %q", p.Name)
	}
	if n := p.Program.Tasks; n < 1 || uint64(n) > text.Size/4 {
		return damage(p.at+0x81c, "%d tasks in 0x%x bytes of text", n, text.Size)
	}
	size := 4 * (uint64(thread.FirstTaskWords) + 1)
	if first := thread.FirstTask; size > text.Size || first < text.Addr || first-text.Addr > text.Size-size {
		return damage(p.at+0x810, "the first task has 0x%x bytes at address 0x%x, outside the text with 0x%x bytes at 0x%x", size, first, text.Size, text.Addr)
	}
	return nil
}

// textSegment is the segment of the tasks, with the constants behind them.
func (p *Procedure) textSegment() *Segment {
	for s := range all[*Segment](p.file) {
		if slices.Contains(s.Sections, p.Text) {
			return s
		}
	}
	panic("bug: a section of no segment")
}

// Sections are the memory that the procedure has: what its table names, and its
// text with what is behind it.
func (p *Procedure) Sections() []*Section {
	if p.only {
		return p.file.Sections()
	}
	named := make(map[uint64]bool)
	for _, addr := range p.Program.Bases {
		named[addr] = addr != 0
	}
	text := p.textSegment().Sections
	return slices.DeleteFunc(p.file.Sections(), func(s *Section) bool {
		return !(named[s.Addr] && s.Size > 0) && !slices.Contains(text, s)
	})
}

// section is one of the procedure's by the names of its segment and its own, or
// nil.
func (p *Procedure) section(segment, name string) *Section {
	for _, s := range p.Sections() {
		if s.Segment.String() == segment && s.Name.String() == name {
			return s
		}
	}
	return nil
}

// Constants is the section after the tasks, or nil; see File.Constants.
func (p *Procedure) Constants() *Section { return p.section("__TEXT", "__const") }

// External is the section whose bytes are a weight file that the loader binds, or
// nil.
func (p *Procedure) External() *Section {
	return externalOf(p.Sections())
}

// Bases lists the entries of its base-address table; see File.Bases.
func (p *Procedure) Bases() []Base {
	names := make(map[uint64]string)
	for b := range all[*PortBinding](p.file) {
		names[b.Addr] = b.Name()
	}
	return p.file.bases(p.Program.Thread, p.Text, names)
}

// Ports lists its ports in the order of the tensor threads; see File.Ports.
func (p *Procedure) Ports() ([]Port, error) {
	if p.only {
		return p.file.Ports()
	}
	named := make(map[uint64]bool)
	for _, addr := range p.Program.Bases[BasePorts:BaseWeights] {
		named[addr] = addr != 0
	}
	return p.file.portsOf([]*ProgramThread{p.Program.Thread},
		func(b *PortBinding) bool { return named[b.Addr] },
		func(t *TensorThread) bool { return t.Network() == p.Name })
}
