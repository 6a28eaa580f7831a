package hwx

import (
	"bytes"
	"errors"
	"fmt"
)

// Describe is the inverse of Build: the Spec of a file. For a file laid out as
// Build lays it out, Build of the Spec gives the same bytes; what such a file
// cannot hold, the Spec cannot say. Its slices are views of the file.
func (f *File) Describe() (*Spec, error) {
	program, err := f.Program()
	if err != nil {
		return nil, err
	}
	ports, err := f.Ports()
	if err != nil {
		return nil, err
	}
	streams, err := f.Streams()
	if err != nil {
		return nil, err
	}
	constants := f.Constants()
	if constants == nil {
		return nil, errors.New("no section __TEXT,__const")
	}
	s := &Spec{
		Subtype: f.Header.CPUSubtype, Program: program.Name, Banner: f.Banner(),
		Text: f.Text().Data, Tasks: program.Tasks, FirstTaskWords: program.FirstTaskWords,
		Constants:  constants.Data,
		Unknown850: program.Thread.Unknown850, Unknown858: program.Thread.Unknown858,
	}
	if program.Thread.Words != WordsProgram {
		s.Form = Form2026
		s.Attributes = program.Thread.Attributes()
		if bss := f.Section("__DATA", "__bss"); bss != nil {
			s.Scratch = bss.Size
		}
		if derived := f.Section("__DATA", "__derived"); derived != nil {
			s.Derived = derived.Size
		}
		if kernels := f.Section("__KERN_0", "__kern_0"); kernels != nil {
			s.KernelSection = kernels.Data
		}
		if weights := f.External(); weights != nil {
			s.External = weights.Size
		} else if weights := f.Section("__KERN_1", "__kern_1"); weights != nil {
			s.WeightFile = weights.Data
		}
	} else if len(constants.Data) == zeroConstants && len(bytes.Trim(constants.Data, "\x00")) == 0 {
		s.Constants = nil
	}
	for _, r := range f.Text().Relocs {
		s.Relocs = append(s.Relocs, r.Offset)
	}
	for _, p := range ports {
		spec := PortSpec{Name: p.Name, Tensor: p.Tensor, Direction: p.Direction, Element: p.Element, Shape: p.Thread.Shape, Strides: p.Thread.Strides}
		s.Ports = append(s.Ports, spec)
	}
	for b := range all[*PortBinding](f) {
		for i, p := range ports {
			if p.Binding == b {
				s.Windows = append(s.Windows, i)
			}
		}
	}
	if len(s.Windows) != len(ports) {
		return nil, fmt.Errorf("%d ports for %d tensors", len(s.Windows), len(ports))
	}
	for _, stream := range streams {
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
