package segment

import (
	"bytes"
	"slices"
	"testing"
)

func TestEqualKernelsAreStoredOnce(t *testing.T) {
	c := PackedConstants{Align: 64}
	one, other := [][]byte{make([]byte, 64), bytes.Repeat([]byte{7}, 128)}, [][]byte{make([]byte, 64), make([]byte, 64)}
	first := c.Streams(one)
	second := c.Streams(other)
	if again := c.Streams(one); !slices.Equal(again, first) || len(c.Data) != 64+128+2*64 {
		t.Errorf("equal streams are at %v and %v of %d bytes", first, again, len(c.Data))
	}
	c.Data = c.Data[:64+128] // as a selection that failed takes them back
	if again := c.Streams(other); !slices.Equal(again, second) || len(c.Data) != 64+128+2*64 {
		t.Errorf("streams that were taken back are at %v of %d bytes, want %v", again, len(c.Data), second)
	}
	if len(second) == 2 && second[0] == second[1] {
		t.Error("the streams of one kernel lie over each other")
	}
}
