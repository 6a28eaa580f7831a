package ops

import "github.com/espalier-ane/espalier/mil"

// A state that is memory of the caller (StateOver) is updated there, if nobody can tell:
//
//	before = read_state(input = held)              the first use of the state, and
//	after = slice_update(x = before, update = …)   the only one of what it held
//	write_state(input = held, data = after)        the next use of the state
//
// Then slice_update writes its slice into the memory and copies nothing else. In loops and branches, and the second time in a
// function, somebody might still have what the state held before.

// findInPlace finds the operations that may do so, and their states.
func (ev *Evaluator) findInPlace() {
	uses := map[*mil.Value]int{}
	order := map[*mil.Value][]*mil.Operation{} // the operations that use a state
	for _, op := range ev.f.Body.Operations {
		op.VisitUses(func(v *mil.Value) {
			uses[v]++
			if _, ok := v.Type.(*mil.StateType); ok {
				order[v] = append(order[v], op)
			}
		})
	}
	for _, v := range ev.f.Body.Outputs {
		uses[v]++
	}
	for state, list := range order {
		if len(list) < 2 || list[0].Kind != "read_state" || list[1].Kind != "write_state" {
			continue
		}
		before, data := list[0].Outputs[0], list[1].Input("data")
		if len(data) != 1 || data[0].Value == nil || uses[before] != 1 {
			continue
		}
		update := data[0].Value.Def
		if update == nil || update.Kind != "slice_update" {
			continue
		}
		if x := update.Input("x"); len(x) == 1 && x[0].Value == before {
			ev.inPlace[update] = state
		}
	}
}

// updatesInPlace reports whether an operation is to write into the memory of a state.
func (r *run) updatesInPlace(op *mil.Operation) bool {
	state, ok := r.inPlace[op]
	if !ok {
		return false
	}
	s, ok := r.env[state].(*State)
	return ok && s.over != nil && s.Read() == s.over
}
