package compiler_test

import "slices"

// minimize takes things out of a program as long as it still fails.
func minimize(p *program, fails func(*program) *failure, why *failure) (*program, *failure) {
	try := func(q *program) bool {
		q.prune()
		if len(q.outputs) == 0 || len(q.steps)+len(q.inputs)+len(q.outputs) >= len(p.steps)+len(p.inputs)+len(p.outputs) && len(q.steps) >= len(p.steps) {
			return false
		}
		f := fails(q)
		if f != nil {
			p, why = q, f
		}
		return f != nil
	}
	for progress := true; progress; {
		progress = false
		for i := len(p.outputs) - 1; i >= 0 && len(p.outputs) > 1; i-- {
			q := p.copy()
			q.outputs = slices.Delete(q.outputs, i, i+1)
			progress = try(q) || progress
		}
		for i := len(p.steps) - 1; i >= 0; i-- {
			if i >= len(p.steps) || p.steps[i].kind == "const" && len(p.steps[i].outs) == 1 && p.values[p.steps[i].outs[0]].Len() == 1 {
				continue
			}
			q := p.copy()
			s := q.steps[i]
			q.steps = slices.Delete(q.steps, i, i+1)
			for _, id := range s.outs { // what it gave is given from outside
				q.inputs = append(q.inputs, source{id, p.values[id].Clone()})
			}
			progress = try(q) || progress
		}
	}
	return p, why
}

func (p *program) copy() *program {
	q := *p
	q.inputs, q.states = slices.Clone(p.inputs), slices.Clone(p.states)
	q.steps, q.outputs = slices.Clone(p.steps), slices.Clone(p.outputs)
	return &q
}

// prune takes out what no output depends on.
func (p *program) prune() {
	read := map[ref]bool{}
	for _, id := range p.outputs {
		read[id] = true
	}
	var kept []*step
	for _, s := range slices.Backward(p.steps) {
		use := len(s.outs) == 0
		for _, id := range s.outs {
			use = use || read[id]
		}
		if use {
			s.reads(func(id ref) { read[id] = true })
			kept = append(kept, s)
		}
	}
	slices.Reverse(kept)
	p.steps = kept
	unread := func(s source) bool { return !read[s.id] }
	p.inputs = slices.DeleteFunc(p.inputs, unread)
	p.states = slices.DeleteFunc(p.states, unread)
}
