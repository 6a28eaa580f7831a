package engine

// Cost returns the bytes of a context and, of version-7 tasks, the
// multiplications and elements of a dispatch: what tests must know before they
// run a program that they did not write.
func (p *Program) Cost() (bytes, work int64) {
	for _, s := range p.steps {
		v7, ok := s.(*v7Step)
		if !ok {
			continue
		}
		n := elements(&v7.result.view)
		if u, ok := v7.unit.(*arrayUnit); ok {
			n *= int64(u.shape.Weights())
		}
		work += elements(&v7.source.view) + n
	}
	return p.dispatchBytes(), work
}
