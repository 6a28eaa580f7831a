package ops

import "github.com/espalier-ane/espalier/internal/anec"

// A state is a value that changes while a function runs: what it holds so far is State.After. In the graph nothing
// changes; each write makes another value, and the last one is what stays.

func lowerReadState(l *Lowering) error {
	s, err := l.InState("input")
	if err != nil {
		return err
	}
	l.Give(0, s.After)
	return nil
}

func lowerWriteState(l *Lowering) error {
	_, err := l.writeState("input", "data")
	return err
}

func lowerUpdateState(l *Lowering) error {
	v, err := l.writeState("state", "value")
	l.Give(0, v)
	return err
}

func (l *Lowering) writeState(state, value string) (*anec.Value, error) {
	s, err := l.InState(state)
	if err != nil {
		return nil, err
	}
	v := l.In(value)
	if v == nil {
		return nil, nil // the builder has the reason
	}
	if !v.Type.Same(s.Before.Type) {
		return nil, l.Refuse("%s is %v, but the state holds %v", value, v.Type, s.Before.Type)
	}
	s.After = v
	return v, nil
}
