package coreml

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Loops in loops, to any depth, end in an error and not in a deep stack; so does a network that is cut off.
func TestLayersOfDamagedNetworks(t *testing.T) {
	field := func(num protowire.Number, data []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), data)
	}
	deep := []byte{}
	for range 4 * maxLayerDepth {
		deep = field(1, field(615, field(4, deep))) // a layer that is a loop with a body
	}
	cut := field(1, field(100, []byte("parameters")))
	for name, network := range map[string][]byte{"deep": deep, "cut": cut[:len(cut)-3]} {
		var list []Layer
		if err := appendLayers(&list, message{network, 0}, 0); err == nil {
			t.Errorf("%s: no error, %d layers", name, len(list))
		}
	}
}
