package td

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// TestRealPrograms decodes the text of Apple's programs and encodes it again,
// every link, size and record header made anew.
func TestRealPrograms(t *testing.T) {
	same, tasks := 0, 0
	for _, p := range programs(t) {
		placed, err := DecodeStream(V7, p.text, p.start, p.firstWords)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		var list []*Task
		for _, task := range placed {
			list = append(list, scrubbed(task.Task))
		}
		tasks += len(list)
		text, err := EncodeStream(list)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if !bytes.Equal(text, p.text) {
			t.Errorf("%s: the text differs after decode and encode", p.name)
			continue
		}
		same++
	}
	t.Logf("%d of 17 texts byte-identical, %d tasks", same, tasks)
}

// scrubbed returns the task with its links cleared, so that an encoder cannot
// take them from there.
func scrubbed(t *Task) *Task {
	c := t.Clone()
	put(c.Header, V7NextOffset, 0)
	put(c.Header, V7NextWords, 0)
	return c
}

// TestRecordedTasks does the same with the recorded tasks.
func TestRecordedTasks(t *testing.T) {
	all := records(t, "h13")
	if len(all) != 80 {
		t.Errorf("want 80 records with tasks, got %d", len(all))
	}
	tasks := 0
	for _, r := range all {
		list := r.tasks(t)
		for i, task := range list {
			words, err := task.Encode()
			if err != nil {
				t.Fatalf("%s: task %d: %v", r.Case, i, err)
			}
			if !slices.Equal(words, r.words(t, i)) {
				t.Errorf("%s: task %d differs after decode and encode", r.Case, i)
			}
			list[i] = scrubbed(task)
		}
		tasks += len(list)

		text, err := EncodeStream(list)
		if err != nil {
			t.Fatalf("%s: %v", r.Case, err)
		}
		first := len(r.words(t, 0))
		placed, err := DecodeStream(V7, text, 0, first)
		if err != nil {
			t.Fatalf("%s: %v", r.Case, err)
		}
		for i, p := range placed {
			got, want := wordsOf(text[p.Offset:][:r.Tasks[i].Size]), r.words(t, i)
			if !slices.Equal(got, want) {
				t.Errorf("%s: task %d differs in the stream", r.Case, i)
			}
		}
		if len(placed) != len(list) {
			t.Errorf("%s: %d tasks in, %d out", r.Case, len(list), len(placed))
		}
	}
	t.Logf("%d records, %d tasks", len(all), tasks)
}

// TestEveryBitNamed holds the layout to what real programs write: a row names
// every bit of it.
func TestEveryBitNamed(t *testing.T) {
	check := func(name string, task *Task) {
		for _, r := range task.Records {
			for i, w := range r.Words {
				addr := r.Addr + 4*uint32(i)
				b := v7.Block(addr)
				if b == nil {
					t.Errorf("%s: register %#x is in no block", name, addr)
				} else if u := b.Unnamed(addr, w); u != 0 {
					t.Errorf("%s: register %#x = %#x: bits %#x have no name", name, addr, w, u)
				}
			}
		}
		header := v7.Blocks[0]
		for i, w := range task.Header {
			if u := header.Unnamed(4*uint32(i), w); u != 0 {
				t.Errorf("%s: header word %d = %#x: bits %#x have no name", name, i, w, u)
			}
		}
	}
	for _, p := range programs(t) {
		placed, err := DecodeStream(V7, p.text, p.start, p.firstWords)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range placed {
			check(p.name, task.Task)
		}
	}
	for _, r := range records(t, "h13") {
		for _, task := range r.tasks(t) {
			check(r.Case, task)
		}
	}
}

// TestRealKernels reads the weights of the real programs through their
// registers, and packs them again.
func TestRealKernels(t *testing.T) {
	for _, p := range programs(t) {
		placed, err := DecodeStream(V7, p.text, p.start, p.firstWords)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRegisters(v7)
		for _, task := range placed {
			r.Apply(task.Task)
			k, ok, err := KernelOf(r)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			if !ok {
				continue
			}
			streams, err := KernelStreams(r, p.consts)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			w, err := k.Unpack(streams)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			if p.name == "conv_8a6bd427.hwx" {
				want := []uint16{0, 1, 2, 3, 4, 5, 6, 7, 8}
				if !slices.Equal(w.Values, want) {
					t.Errorf("%s: weights %v, want %v", p.name, w.Values, want)
				}
			}
			if p.name == "golden_50e38bf9.hwx" {
				if !slices.Equal(w.Bias, []uint16{0x3c00, 0x3c00}) || !slices.Equal(w.Values, slices.Repeat([]uint16{0x4200}, 6)) {
					t.Errorf("%s: weights %v, biases %v", p.name, w.Values, w.Bias)
				}
			}
			again, err := k.Pack(w)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			var s Section
			for e, stream := range again {
				if !bytes.Equal(stream, streams[e]) {
					t.Errorf("%s: stream %d differs after unpack and pack", p.name, e)
				}
				if len(stream) > 0 {
					s.Append(stream)
				}
			}
			if !bytes.Equal(s.Data, p.consts) {
				t.Errorf("%s: the section differs after unpack and pack", p.name)
			}
			for o := range k.Groups * k.Outputs {
				for i := range k.Inputs {
					e, at, ok := k.Locate(o, i, 0, 0)
					if !ok || binary.LittleEndian.Uint16(streams[e][at:]) != w.Values[o*k.Inputs+i] {
						t.Fatalf("%s: weight %d,%d is not at stream %d offset %#x", p.name, o, i, e, at)
					}
				}
			}
		}
	}
}
