package compiler

import (
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/segment"
)

// keepChained leaves results on chip that supply the next task directly, as the rules of the chip say, where the tasks of both
// layers can.
func keepChained(s *segment.Segment) error {
	if s.Alone || s.Plan.OnChip == nil {
		return nil
	}
	native := encode.Of(s.Target)[0]
	for _, v := range s.Plan.OnChip.Values {
		if v.State == segment.Chained {
			from := s.Selected[s.StandsFor[s.Plan.Layers[v.Maker]]]
			to := s.Selected[s.Plan.Layers[v.Readers[0]]]
			native.Keep(v.Value, s.Layout.Spots[v.Value], from, to)
		}
	}
	return nil
}
