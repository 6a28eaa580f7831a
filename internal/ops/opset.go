package ops

import (
	"fmt"
	"strings"
)

// Opset is a version of the operation set.
type Opset uint8

// The opsets of ML programs, oldest first. IOS26 adds no operation that coremltools defines; it is what
// specification 10 names.
const (
	IOS15 Opset = iota
	IOS16
	IOS17
	IOS18
	IOS26
	numOpsets
)

// opsetNames has every spelling of an opset: coremltools' name first, then that of the protobuf form.
var opsetNames = [numOpsets][2]string{
	IOS15: {"iOS15", "CoreML5"},
	IOS16: {"iOS16", "CoreML6"},
	IOS17: {"iOS17", "CoreML7"},
	IOS18: {"iOS18", "CoreML8"},
	IOS26: {"iOS26", "CoreML9"},
}

// String returns "iOS15" … "iOS26".
func (o Opset) String() string {
	if o >= numOpsets {
		return fmt.Sprintf("opset(%d)", uint8(o))
	}
	return opsetNames[o][0]
}

// ParseOpset understands "CoreML5" as protobuf programs spell it and "ios15" as texts do, in any case.
func ParseOpset(name string) (Opset, error) {
	var known []string
	for o, names := range opsetNames {
		for _, n := range names {
			if strings.EqualFold(n, name) {
				return Opset(o), nil
			}
			known = append(known, n)
		}
	}
	return 0, fmt.Errorf("unknown opset %q%s", name, didYouMean(name, known))
}
