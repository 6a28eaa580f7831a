package dump

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/explain/task"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A Container is a hardware container.
type Container struct {
	Target     string `json:"target,omitempty"`
	CPUSubtype uint32 `json:"cpu_subtype"`
	Banner     string `json:"banner,omitempty"`

	Regions         []Region          `json:"regions"`
	Commands        []Command         `json:"commands"`
	Program         *ContainerProgram `json:"program,omitempty"`
	Bases           []Base            `json:"bases"`
	Ports           []Port            `json:"ports"`
	Symbols         Symbols           `json:"symbols"`
	Streams         []Stream          `json:"streams"`
	Relocations     []Relocation      `json:"relocations"`
	ConstantSection *Constants        `json:"constant_section,omitempty"`
	KernelSections  []Constants       `json:"kernel_sections,omitempty"`

	Tasks     []task.Task `json:"tasks"`
	TasksNote string      `json:"tasks_note,omitempty"`

	// Procedures are the programs of a container that has several: Program, Bases, Ports and Tasks are then theirs.
	Procedures []Procedure `json:"procedures,omitempty"`
}

// A Region is a run of bytes of the file, or memory that has none there.
type Region struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Offset  *int64 `json:"offset,omitempty"`
	Size    int64  `json:"size"`
	Address string `json:"address,omitempty"`

	addr uint64 // Address as a number
}

// A Command is a load command.
type Command struct {
	Offset int64         `json:"offset"`
	Code   string        `json:"code"`
	Size   int           `json:"size"`
	Name   string        `json:"name"`
	Fields report.Object `json:"fields"`
}

// A ContainerProgram says where the tasks begin.
type ContainerProgram struct {
	Name           string `json:"name"`
	Tasks          int    `json:"tasks"`
	FirstTask      string `json:"first_task"`
	FirstTaskWords int    `json:"first_task_words"`
}

// A Base is an entry of the base-address table.
type Base struct {
	Index   int    `json:"index"`
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
}

// A Port is what the runtime binds.
type Port struct {
	Name      string   `json:"name"`
	Tensor    string   `json:"tensor"`
	Direction string   `json:"direction"`
	Type      string   `json:"type"`
	Shape     [4]int   `json:"shape"`
	Strides   [4]int64 `json:"strides"`
	Address   string   `json:"address"`
	Bytes     int64    `json:"bytes"`
	Base      *int     `json:"base,omitempty"`
}

// Symbols counts the symbols by what they are.
type Symbols struct {
	Count    int `json:"count"`
	Kernels  int `json:"kernels"`
	Ports    int `json:"ports"`
	Elements int `json:"element_types"`
	Shapes   int `json:"shapes"`
	Others   int `json:"others"`
}

// A Stream is a kernel stream of the symbol table.
type Stream struct {
	Symbol  string `json:"symbol"`
	Engine  *int   `json:"engine,omitempty"`
	Section string `json:"section"`
	Offset  int64  `json:"offset"`
	Size    int64  `json:"size"`
	Empty   bool   `json:"empty,omitempty"`
}

// A Relocation is a word that points into a section.
type Relocation struct {
	Section string `json:"section"`
	Offset  uint32 `json:"offset"`
	Bytes   int    `json:"bytes"`
	Into    string `json:"into"`
}

// Constants are a section of constants, kernel streams or weights.
type Constants struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Size    int    `json:"size"`
	SHA256  string `json:"sha256"`
}

func explainContainer(f *file) (Content, error) {
	h, err := hwx.NewFile(f.data)
	if err != nil {
		return nil, f.named(err)
	}
	c, err := newContainer(h)
	if c == nil {
		return nil, f.named(err)
	}
	return c, f.named(err)
}

// newContainer describes a container. Where its tasks cannot be read, it has all the rest.
func newContainer(f *hwx.File) (*Container, error) {
	r := &Container{
		CPUSubtype: f.Header.CPUSubtype, Banner: f.Banner(),
		Bases: []Base{}, Ports: []Port{}, Streams: []Stream{}, Relocations: []Relocation{}, Tasks: []task.Task{},
	}
	if target, err := f.Target(); err == nil {
		r.Target = target.Name
	}
	if err := r.addMap(f); err != nil {
		return nil, err
	}
	for _, c := range f.Explain() {
		r.Commands = append(r.Commands, Command{c.Offset, fmt.Sprintf("0x%02x", c.Command.Code()), c.Command.Len(), c.Name, commandFields(c)})
	}
	r.addConstants(f)
	if programs(f) > 1 {
		return r, errors.Join(r.addSymbols(f), r.addProcedures(f))
	}
	r.Bases = newBases(f.Bases())
	return r, errors.Join(r.addPorts(f), r.addSymbols(f), r.addTasks(f))
}

// addMap lists the regions of the file, then the memory that has no bytes in the file.
func (r *Container) addMap(f *hwx.File) error {
	regions, err := f.Regions()
	if err != nil {
		return err
	}
	for _, g := range regions {
		row := Region{Kind: g.Kind.String(), Name: g.Name, Offset: &g.Offset, Size: g.Size}
		if s := sectionAt(f, g); s != nil {
			row.Address, row.addr = report.Address(s.Addr), s.Addr
		}
		r.Regions = append(r.Regions, row)
	}
	windows := map[uint64]string{} // of the ports
	for _, c := range f.Commands {
		if p, ok := c.(*hwx.PortBinding); ok {
			windows[p.Addr] = p.Name()
		}
	}
	for _, s := range f.Sections() {
		if s.Data != nil {
			continue
		}
		row := Region{Kind: "memory", Name: sectionName(s), Size: int64(s.Size), Address: report.Address(s.Addr), addr: s.Addr}
		switch name, window := windows[s.Addr]; {
		case window:
			row.Kind, row.Name = "window", name
		case s.Flags == hwx.SectionDerived:
			row.Kind = "derived memory"
		case s.Flags == hwx.SectionExternal:
			row.Kind = "weights of another file"
		}
		r.Regions = append(r.Regions, row)
	}
	return nil
}

func regionTitle(g hwx.Region) string {
	if g.Name == "" {
		return g.Kind.String()
	}
	return g.Kind.String() + " " + g.Name
}

// sectionAt is the section whose content a region is, nil if it is none.
func sectionAt(f *hwx.File, g hwx.Region) *hwx.Section {
	if g.Kind != hwx.RegionSection {
		return nil
	}
	for _, s := range f.Sections() {
		if s.Data != nil && int64(s.Offset) == g.Offset && int64(s.Size) == g.Size {
			return s
		}
	}
	return nil
}

func sectionName(s *hwx.Section) string { return s.Segment.String() + "," + s.Name.String() }

func commandFields(c hwx.Explained) report.Object {
	var o report.Object
	for _, v := range c.Fields {
		var value any = v.Value
		if v.Bytes == 16 {
			value = v.Text
		}
		o.Add(v.Name, value)
	}
	return o
}

func newBases(bases []hwx.Base) []Base {
	list := []Base{}
	for _, b := range bases {
		list = append(list, Base{b.Index, report.Address(b.Addr), string(b.Kind), b.Name})
	}
	return list
}

func (r *Container) addPorts(f *hwx.File) error {
	ports, err := f.Ports()
	if err != nil {
		return err
	}
	r.Ports = newPorts(ports)
	return nil
}

func newPorts(ports []hwx.Port) []Port {
	list := []Port{}
	for _, p := range ports {
		row := Port{
			Name: p.Name, Tensor: p.Tensor, Direction: p.Direction.String(), Type: elementName(p.Element),
			Shape: p.Shape, Strides: p.Strides, Address: report.Address(p.Addr), Bytes: p.Bytes,
		}
		if p.Base >= 0 {
			row.Base = &p.Base
		}
		list = append(list, row)
	}
	return list
}

// elementName spells an element type as MIL does, if MIL has it.
func elementName(e hwx.Element) string {
	if d := e.DType(); d != tensor.Invalid {
		return d.String()
	}
	return e.String()
}

func (r *Container) addSymbols(f *hwx.File) error {
	r.Symbols.Count = len(f.Symbols)
	for _, s := range f.Symbols {
		_, kernel := hwx.ParseKernelName(f.SymbolName(s))
		switch {
		case s.Type == hwx.SymbolAddress && kernel:
			r.Symbols.Kernels++
		case s.Type == hwx.SymbolAddress:
			r.Symbols.Ports++
		case s.Type == hwx.SymbolElement:
			r.Symbols.Elements++
		case s.Type == hwx.SymbolShape:
			r.Symbols.Shapes++
		default:
			r.Symbols.Others++
		}
	}
	sections := f.Sections()
	for _, s := range sections {
		for _, rel := range s.Relocs {
			into := sections[rel.Ordinal()-1] // reading has seen to it that there is one
			r.Relocations = append(r.Relocations, Relocation{sectionName(s), rel.Offset, rel.Bytes(), sectionName(into)})
		}
	}
	streams, err := f.Streams()
	if err != nil {
		return err
	}
	for _, s := range streams {
		row := Stream{Symbol: s.Symbol, Section: sectionName(s.Section), Offset: s.Offset, Size: s.Size, Empty: s.Empty}
		if s.Name.Engine >= 0 {
			row.Engine = &s.Name.Engine
		}
		r.Streams = append(r.Streams, row)
	}
	return nil
}

func (r *Container) addConstants(f *hwx.File) {
	constants := f.Constants()
	if programs(f) < 2 { // else each has its own
		r.ConstantSection = newConstants(constants)
	}
	for _, s := range f.KernelSections() {
		if s != constants {
			r.KernelSections = append(r.KernelSections, *newConstants(s))
		}
	}
}

// newConstants describes a section of constants, if there is one.
func newConstants(s *hwx.Section) *Constants {
	if s == nil {
		return nil
	}
	c := &Constants{Name: sectionName(s), Address: report.Address(s.Addr), Size: int(s.Size)}
	if s.Data != nil { // not the weights of a bundle, which are in a file of their own
		sum := sha256.Sum256(s.Data)
		c.SHA256 = hex.EncodeToString(sum[:])
	}
	return c
}

// addTasks describes the program and its tasks.
func (r *Container) addTasks(f *hwx.File) error {
	note, readable, err := taskNote(f)
	if err != nil {
		return err
	}
	p, err := f.Program()
	if err != nil {
		if !readable {
			r.TasksNote = err.Error()
			return nil
		}
		return err
	}
	r.Program = newProgram(p)
	if r.TasksNote = note; !readable {
		return nil
	}
	tasks, err := task.Explain(f)
	if err != nil {
		return err
	}
	r.Tasks = append(r.Tasks, tasks...)
	return nil
}

func newProgram(p *hwx.Program) *ContainerProgram {
	return &ContainerProgram{p.Name, p.Tasks, report.Address(p.FirstTask), p.FirstTaskWords}
}

// taskNote says why tasks are not decoded. A container for a target that is not known, or whose tasks are of a version that is not
// known, keeps them to itself, which is no error.
func taskNote(f *hwx.File) (note string, readable bool, err error) {
	target, unknown := f.Target()
	if unknown != nil {
		return fmt.Sprintf("not decoded: no target with CPU subtype %d is known", f.Header.CPUSubtype), false, nil
	}
	version, err := f.TaskVersion()
	if err != nil {
		return "", false, err
	}
	if td.LayoutOf(version) == nil {
		return fmt.Sprintf("not decoded: no table of task version %d, that of %s, is known", version, target.Name), false, nil
	}
	return "", true, nil
}
