package units

// Bind returns the task with other bases and offsets: at gives those of a base and an offset.
func (o *Op) Bind(at func(base, offset int) (int, int)) *Op {
	bound := *o
	surface := func(s *Surface) *Surface {
		if s == nil {
			return nil
		}
		b := *s
		b.Base, b.Offset = at(s.Base, s.Offset)
		return &b
	}
	bound.Source1.Memory = surface(o.Source1.Memory)
	if o.Source2 != nil {
		second := *o.Source2
		second.Memory = surface(second.Memory)
		bound.Source2 = &second
	}
	bound.Result = surface(o.Result)
	if o.Kernel != nil {
		kernel := *o.Kernel
		kernel.Offsets = make([]int, len(o.Kernel.Offsets))
		for i, offset := range o.Kernel.Offsets {
			kernel.Base, kernel.Offsets[i] = at(o.Kernel.Base, offset)
		}
		bound.Kernel = &kernel
	}
	return &bound
}
