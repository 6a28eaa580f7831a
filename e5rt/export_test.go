package e5rt

// WhileBusy does something while a run has a state.
func WhileBusy(s *State, do func()) {
	s.busy.Store(true)
	defer s.busy.Store(false)
	do()
}
