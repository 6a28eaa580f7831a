package compiler

// keepChained leaves results on chip that supply the next task directly, as the rules of the chip say, where the tasks of both
// layers can.
func keepChained(s *Segment) error {
	if s.alone || s.Plan.OnChip == nil {
		return nil
	}
	own := encodersOf(s.Target)[0]
	for _, v := range s.Plan.OnChip.Values {
		if v.State == Chained {
			from := s.Selected[s.StandsFor[s.Plan.Layers[v.Maker]]]
			to := s.Selected[s.Plan.Layers[v.Readers[0]]]
			own.Keep(v.Value, s.Layout.Spots[v.Value], from, to)
		}
	}
	return nil
}
