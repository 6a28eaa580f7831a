package hwx

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Describe is the inverse of Build: the Spec of a file with one program. For a
// file laid out as Build lays it out, Build of the Spec gives the same bytes; what
// such a file cannot hold, the Spec cannot say. Its slices are views of the file.
func (f *File) Describe() (*Spec, error) {
	p, err := f.Procedure("")
	if err != nil {
		return nil, err
	}
	return p.describe()
}

// DescribeAll is Describe of a file with any number of programs.
func (f *File) DescribeAll() ([]Spec, error) {
	list, err := f.Procedures()
	if err != nil {
		return nil, err
	}
	specs := make([]Spec, len(list))
	for i, p := range list {
		s, err := p.describe()
		if err != nil {
			return nil, err
		}
		specs[i] = *s
	}
	return specs, nil
}

func (p *Procedure) describe() (*Spec, error) {
	f, program := p.file, p.Program
	ports, err := p.Ports()
	if err != nil {
		return nil, err
	}
	streams, err := f.Streams()
	if err != nil {
		return nil, err
	}
	foreign, err := p.foreign()
	if err != nil {
		return nil, err
	}
	constants := p.Constants()
	if constants == nil {
		return nil, errors.New("no section __TEXT,__const")
	}
	s := &Spec{
		Subtype: f.Header.CPUSubtype, Program: program.Name, Banner: f.Banner(),
		Text: p.Text.Data, Tasks: program.Tasks, FirstTaskWords: program.FirstTaskWords,
		Constants:  constants.Data,
		Unknown850: program.Thread.Unknown850, Unknown858: program.Thread.Unknown858,
	}
	for task := range foreign {
		s.Foreign = append(s.Foreign, uint32(task))
	}
	slices.Sort(s.Foreign)
	if program.Thread.Words != WordsProgram {
		s.Form = Form2026
		s.Attributes = program.Thread.Attributes()
		p.describeMemory(s)
	} else if len(constants.Data) == zeroConstants && len(bytes.Trim(constants.Data, "\x00")) == 0 {
		s.Constants = nil
	}
	for _, r := range p.Text.Relocs {
		s.Relocs = append(s.Relocs, r.Offset)
	}
	for _, q := range ports {
		spec := PortSpec{Name: q.Name, Tensor: q.Tensor, Direction: q.Direction, Element: q.Element, Shape: q.Thread.Shape, Strides: q.Thread.Strides}
		s.Ports = append(s.Ports, spec)
	}
	if s.Windows, err = p.windowOrder(ports); err != nil {
		return nil, err
	}
	mine := make(map[*Section]bool)
	for _, section := range p.Sections() {
		mine[section] = true
	}
	for _, stream := range streams {
		if !mine[stream.Section] {
			continue
		}
		n := len(s.Kernels)
		if n == 0 || s.Kernels[n-1].Digest != stream.Name.Digest {
			s.Kernels = append(s.Kernels, KernelSpec{Digest: stream.Name.Digest})
			n++
		}
		if k := &s.Kernels[n-1]; stream.Empty {
			k.Empty++
		} else {
			k.Offsets = append(k.Offsets, uint64(stream.Offset))
		}
	}
	return s, nil
}

// describeMemory says what memory a program has that is neither its text nor its
// ports.
func (p *Procedure) describeMemory(s *Spec) {
	if bss := p.section("__DATA", "__bss"); bss != nil {
		s.Scratch = bss.Size
	}
	if derived := p.section("__DATA", "__derived"); derived != nil {
		s.Derived = derived.Size
	}
	kernels, weights := p.file.Section("__KERN_0", "__kern_0"), p.file.Section("__KERN_1", "__kern_1")
	if !p.only {
		// Those of several programs have any number: the table has them.
		begins := p.file.begins()
		kernels, weights = begins[p.Program.Bases[BaseConst]], begins[p.Program.Bases[BaseWeights]]
		if kernels == p.Constants() {
			kernels = nil
		}
	}
	if kernels != nil {
		s.KernelSection = kernels.Data
	}
	if external := p.External(); external != nil {
		s.External = external.Size
	} else if weights != nil {
		s.WeightFile = weights.Data
	}
}

// windowOrder is the order of the windows: that of the bindings, and of several
// programs that of the table.
func (p *Procedure) windowOrder(ports []Port) (order []int, err error) {
	if p.only {
		for b := range all[*PortBinding](p.file) {
			for i := range ports {
				if ports[i].Binding == b {
					order = append(order, i)
				}
			}
		}
	} else {
		for i := range ports {
			order = append(order, i)
		}
		slices.SortFunc(order, func(i, j int) int { return ports[i].Base - ports[j].Base })
	}
	if len(order) != len(ports) {
		return nil, fmt.Errorf("%d ports for %d tensors", len(order), len(ports))
	}
	return order, nil
}
