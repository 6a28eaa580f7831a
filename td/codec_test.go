package td

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// pairs is a codec of single writes: the address in words and the value. It is
// unlike the others in every way that a version may be.
var pairs = Codec{
	HeaderWords: 8,
	Decode: func(v Version, words []uint32) (*Task, error) {
		if len(words) < 8 || len(words)%2 != 0 {
			return nil, formatError(0, "%d words", len(words))
		}
		t := &Task{Version: v, Header: words[:8:8]}
		for at := 8; at < len(words); at += 2 {
			t.Records = append(t.Records, Record{4 * words[at], words[at+1 : at+2 : at+2]})
		}
		return t, nil
	},
	Encode: func(t *Task) ([]uint32, error) {
		words := append([]uint32(nil), t.Header...)
		for _, r := range t.Records {
			if len(r.Words) != 1 || r.Addr >= 4<<15 {
				return nil, fmt.Errorf("%d words at %#x", len(r.Words), r.Addr)
			}
			words = append(words, r.Addr/4, r.Words[0])
		}
		return words, nil
	},
	Word: func(t *Task, register uint32) int {
		for i, r := range t.Records {
			if r.Addr == register {
				return 8 + 2*i + 1
			}
		}
		return -1
	},
}

// madeUp is a version with this codec and links of its own.
func madeUp(v Version) (l *Layout, width *Field) {
	l = NewLayout(v)
	header := l.AddHeader(8, "made up")
	block := l.AddBlock("Sizes", 0x400, 2, "made up")
	l.Codec = pairs
	l.Links = Links{
		TaskID:     header.AddField("TaskID", 4*1, 15, 0, Uint, Ours, ""),
		NextOffset: header.AddField("NextOffset", 4*6, 31, 0, Uint, Ours, ""),
		NextWords:  header.AddField("NextWords", 4*3, 11, 4, Uint, Ours, ""),
	}
	return l, block.AddField("Width", 0x404, 15, 0, Uint, Ours, "")
}

// A version is its table: nothing else in the package knows it, also in streams
// with tasks of another.
func TestAnotherVersion(t *testing.T) {
	const version Version = 4711
	if _, err := Decode(version, make([]uint32, 8)); err == nil {
		t.Error("a version without layout is decoded")
	}
	layout, width := madeUp(version)
	remove := AddLayout(layout)
	defer remove()
	op := &Op{ID: 3, Params: &Copy{}, Operands: []Operand{Dense(1, 0, tensor.Float16, [NumAxes]int{1, 1, 1, 2, 3}), Dense(2, 0, tensor.Float16, [NumAxes]int{1, 1, 1, 2, 3})}}
	foreign, err := op.Task(V256)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := op.Task(version); err == nil {
		t.Error("a version that reaches no registers of 256 holds an operation")
	}
	task := &Task{Version: version, Header: make([]uint32, 8), Records: []Record{{0x404, []uint32{17}}, {0x400, []uint32{5}}}}
	if task.Extension() || task.WordOf(width) != 9 {
		t.Errorf("extension %t, the width is word %d", task.Extension(), task.WordOf(width))
	}
	want := []*Task{task, foreign, task.Clone(), task.Clone(), foreign.Clone()}
	text, err := EncodeStream(want)
	if err != nil {
		t.Fatal(err)
	}
	placed, err := DecodeMixed(version, text, 0, 8+4, map[int]Version{1: V256, 4: V256})
	if err != nil {
		t.Fatal(err)
	}
	if len(placed) != len(want) {
		t.Fatalf("%d tasks, want %d", len(placed), len(want))
	}
	for i, got := range placed {
		if got.Version != want[i].Version || !reflect.DeepEqual(got.Records, want[i].Records) {
			t.Errorf("task %d is %+v, want %+v", i, got.Task, want[i])
		}
	}
	registers := NewRegisters(layout)
	registers.Apply(placed[2].Task)
	if got := registers.Value(width); got != 17 {
		t.Errorf("the width is %d", got)
	}
	if _, loads, err := KernelOf(registers); loads || err != nil {
		t.Errorf("loads a kernel: %t, %v", loads, err)
	}
	remove()
	if LayoutOf(version) != nil {
		t.Error("the layout is still there")
	}
}
