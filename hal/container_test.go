package hal

import "testing"

func TestEveryTargetHasAContainer(t *testing.T) {
	for _, target := range Targets() {
		c := target.Container()
		if c.CPUSubtype == 0 || c.TaskVersion == 0 || c.Family != target.Family {
			t.Errorf("%s: a container as for %s, subtype %d, task version %d, family %v", target.Name, c.Name, c.CPUSubtype, c.TaskVersion, c.Family)
		}
		if target.CPUSubtype != 0 && c != target {
			t.Errorf("%s: a container as for %s, and it has a subtype of its own", target.Name, c.Name)
		}
	}
}

// The compiler asks a native encoder, if there is one, and then the one that takes every layer. There is no third.
func TestEncoders(t *testing.T) {
	for _, target := range Targets() {
		n := len(target.Encoders)
		if n < 1 || n > 2 || target.Encoders[n-1] != "v256" {
			t.Errorf("%s has the encoders %v", target.Name, target.Encoders)
		}
	}
}
