package td

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestNewV7Task(t *testing.T) {
	for _, c := range []struct {
		kernel bool
		words  int
		counts []int
	}{
		{true, 157, []int{62, 16, 28, 18, 4, 5, 7}},
		{false, 126, []int{18, 12, 16, 28, 18, 4, 5, 7}},
	} {
		task := NewV7Task(c.kernel)
		words, err := task.Encode()
		if err != nil || len(words) != c.words {
			t.Errorf("kernel %t: %d words, want %d (%v)", c.kernel, len(words), c.words, err)
		}
		var counts []int
		for _, r := range task.Records {
			counts = append(counts, len(r.Words))
		}
		if !slices.Equal(counts, c.counts) {
			t.Errorf("kernel %t: records of %v words, want %v", c.kernel, counts, c.counts)
		}
		if words[headerWords] != uint32(c.counts[0]-1)<<26|0x1f800 {
			t.Errorf("kernel %t: the first record begins with %#x", c.kernel, words[headerWords])
		}
		again, err := Decode(V7, words)
		if err != nil {
			t.Fatal(err)
		}
		if again2, _ := again.Encode(); !slices.Equal(again2, words) {
			t.Errorf("kernel %t: differs after decode and encode", c.kernel)
		}
	}
}

func TestGetSet(t *testing.T) {
	task := NewV7Task(false)
	if err := task.Set(V7Win, 300); err != nil {
		t.Fatal(err)
	}
	if err := task.Set(V7Hin, 7); err != nil {
		t.Fatal(err)
	}
	if w, ok := task.Word(0); !ok || w != 7<<16|300 {
		t.Errorf("register 0 is %#x", w)
	}
	if err := task.Set(V7TaskID, 5); err != nil || task.Header[0] != 5 {
		t.Errorf("header %v, %v", task.Header, err)
	}
	if err := task.Set(V7KernelChannel[3].Size, 0x40); err == nil {
		t.Error("a task of 126 words took the size of a kernel stream")
	}
	if _, ok := task.Get(V7KernelChannel[3].Size); ok {
		t.Error("a task of 126 words has the size of a kernel stream")
	}
	if err := task.Set(V7Win, 1<<15); err == nil || !strings.Contains(err.Error(), "Common.Win") {
		t.Errorf("a width of 32768: %v", err)
	}
	if _, ok := task.Get(V7KernelTask); ok {
		t.Error("a header of ten words has an eleventh")
	}

	task.Header = append(task.Header, 4)
	if _, err := task.Encode(); err == nil {
		t.Error("eleven header words were encoded without the flag that announces them")
	}
	if err := task.Set(V7ExtraWord, 1); err != nil {
		t.Fatal(err)
	}
	words, err := task.Encode()
	if err != nil || len(words) != 127 {
		t.Fatalf("%d words, %v", len(words), err)
	}
	again, err := Decode(V7, words)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := again.Get(V7KernelTask); !ok || v != 4 {
		t.Errorf("the eleventh word is %d, %t", v, ok)
	}
}

func TestRegistersPersist(t *testing.T) {
	r := NewRegisters(v7)
	if _, ok := r.Get(V7Win); ok {
		t.Error("a register was written before any task")
	}
	first := NewV7Task(true)
	for _, f := range []*Field{V7Win, V7Cin} {
		if err := first.Set(f, 9); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Set(V7KernelChannel[15].Size, 0x80); err != nil {
		t.Fatal(err)
	}
	if err := first.SetWord(V7PEScale.Addr, 0x3c003800); err != nil {
		t.Fatal(err)
	}
	r.Apply(first)
	if s, b := r.Float(V7PEScale), r.Float(V7PEBias); s != 1 || b != 0.5 {
		t.Errorf("scale %g, bias %g", s, b)
	}
	r.Apply(NewV7Task(false))
	if r.Value(V7Win) != 0 || r.Value(V7KernelChannel[15].Size) != 0x80 {
		t.Errorf("after a task without kernel: width %d, size %#x; want 0 and what the first task wrote", r.Value(V7Win), r.Value(V7KernelChannel[15].Size))
	}
	r.Apply(&Task{Version: V7, Records: []Record{{0x123450, []uint32{7}}}})
	if w, ok := r.Word(0x123450); !ok || w != 7 || !slices.Equal(r.Others(), []uint32{0x123450}) {
		t.Errorf("a register of no block: %d, %t, others %#x", w, ok, r.Others())
	}
	if _, ok := r.Get(V7TaskID); ok {
		t.Error("a header field is in the registers")
	}
}

func TestDecodeErrors(t *testing.T) {
	good, err := NewV7Task(false).Encode()
	if err != nil {
		t.Fatal(err)
	}
	with := func(i int, w uint32) []uint32 {
		c := slices.Clone(good)
		c[i] = w
		return c
	}
	for _, c := range []struct {
		name   string
		v      Version
		words  []uint32
		offset int64
	}{
		{"no words", V7, nil, 0},
		{"half a header", V7, good[:5], 0},
		{"announced word missing", V7, []uint32{6: 1 << 24, 9: 0}, 40},
		{"record longer than the task", V7, good[:len(good)-1], 4 * 118},
		{"record address not aligned", V7, with(headerWords, 0x1f802), 40},
		{"record leaves the register space", V7, with(headerWords, 17<<26|0x3fffffc), 40},
		{"unknown version", 9, good, 0},
		{"version 10 with half a record", V10, make([]uint32, 12), 44},
		{"version 10 with another count", V10, make([]uint32, 11), 0},
	} {
		_, err := Decode(c.v, c.words)
		var f *FormatError
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", c.name, err)
		} else if f.Offset != c.offset {
			t.Errorf("%s: offset %#x, want %#x (%v)", c.name, f.Offset, c.offset, err)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		task *Task
	}{
		{"short header", &Task{Version: V7, Header: make([]uint32, 9)}},
		{"long header", &Task{Version: V7, Header: make([]uint32, 11)}},
		{"empty record", &Task{Version: V7, Header: make([]uint32, 10), Records: []Record{{0, nil}}}},
		{"long record", &Task{Version: V7, Header: make([]uint32, 10), Records: []Record{{0, make([]uint32, 65)}}}},
		{"odd address", &Task{Version: V7, Header: make([]uint32, 10), Records: []Record{{2, make([]uint32, 1)}}}},
		{"far address", &Task{Version: V7, Header: make([]uint32, 10), Records: []Record{{1 << 26, make([]uint32, 1)}}}},
		{"unknown version", &Task{Version: 9}},
		{"version 10 without its header", &Task{Version: V10, Records: []Record{{0, []uint32{1}}}}},
	} {
		if _, err := c.task.Encode(); err == nil {
			t.Errorf("%s: encoded", c.name)
		}
	}
	long := &Task{Version: V7, Header: make([]uint32, 10)}
	for range 8 {
		long.Records = append(long.Records, Record{0, make([]uint32, 64)})
	}
	if _, err := EncodeStream([]*Task{long}); err == nil {
		t.Error("a task of more than 512 words was put into a stream")
	}
	if _, err := EncodeStream([]*Task{{Version: V10}}); err == nil {
		t.Error("a task of version 10 was put into a stream")
	}
}

// stream makes a text of n tasks without kernels.
func stream(t testing.TB, n int) []byte {
	t.Helper()
	var tasks []*Task
	for i := range n {
		task := NewV7Task(i%2 == 1)
		task.Header[0] = uint32(i)
		tasks = append(tasks, task)
	}
	text, err := EncodeStream(tasks)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestStreamWalk(t *testing.T) {
	text := stream(t, 5)
	placed, err := DecodeStream(V7, text, 0, 126)
	if err != nil {
		t.Fatal(err)
	}
	var offsets []int
	for i, p := range placed {
		offsets = append(offsets, p.Offset)
		if id, _ := p.Get(V7TaskID); int(id) != i {
			t.Errorf("task %d has id %d", i, id)
		}
	}
	if want := []int{0, 0x200, 0x500, 0x700, 0xa00}; !slices.Equal(offsets, want) {
		t.Errorf("tasks at %#x, want %#x", offsets, want)
	}
	if len(text) != 0xa00+4*126 {
		t.Errorf("the text has %#x bytes: it ends with the last task", len(text))
	}
	if text, err := EncodeStream(nil); err != nil || len(text) != 0 {
		t.Errorf("no tasks: %d bytes, %v", len(text), err)
	}
}

func TestStreamErrors(t *testing.T) {
	const link, size = 4 * 7, 4 * 1
	for _, c := range []struct {
		name         string
		start, words int
		spoil        func(text []byte) []byte
		task         int
		offset       int64
		message      string
	}{
		{"loop", 0, 126, set(0x500+link, 0x200), 3, 0x500 + link, "comes back"},
		{"loop to itself", 0, 126, set(0x200+link, 0x200), 2, 0x200 + link, "comes back"},
		{"overlap behind", 0, 126, set(0x500+link, 0x300), 3, 0x500 + link, "overlap the task at 0x200"},
		{"overlap in front", 0, 126, func(b []byte) []byte {
			b = set(link, 0x500)(b) // task 0, then 0x500,
			b = set(size, 125<<16)(b)
			b = set(0x500+link, 0x400)(b) // then 0x400, of 100 words
			return set(0x500+size, 99<<16)(b)
		}, 2, 0x500 + link, "overlap the task at 0x500"},
		{"link outside", 0, 126, set(0x200+link, 0x10000), 2, 0x200 + link, "not in the text"},
		{"link to the end", 0, 126, set(0x200+link, 0xb00), 2, 0x200 + link, "not in the text"},
		{"link not aligned", 0, 126, set(0x200+link, 0x510), 2, 0x200 + link, "multiple of 0x100"},
		{"next task too short", 0, 126, set(0x200+size, 3<<16), 2, 0x200 + link, "10 to 512 words"},
		{"task cut short", 0, 126, func(b []byte) []byte { return b[:0x600] }, 2, 0x200 + link, "not in the text"},
		{"record outside its task", 0, 126, set(0x200+4*149, 63<<26|0x17800), 1, 0x200 + 4*149, "record of 64 words"},
		{"first task longer than the text", 0, 400, func(b []byte) []byte { return b[:0x200] }, 0, 0, "not in the text"},
		{"first task not in the text", 0x100000, 126, nil, 0, 0x100000, "not in the text"},
		{"negative start", -0x100, 126, nil, 0, -0x100, "multiple of 0x100"},
		{"no words", 0, 0, nil, 0, 0, "10 to 512 words"},
	} {
		text := stream(t, 5)
		if c.spoil != nil {
			text = c.spoil(text)
		}
		_, err := DecodeStream(V7, text, c.start, c.words)
		var f *FormatError
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f.Task != c.task || f.Offset != c.offset || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: task %d, offset %#x: %v; want task %d, offset %#x, %q", c.name, f.Task, f.Offset, err, c.task, c.offset, c.message)
		}
	}
	if _, err := DecodeStream(V10, nil, 0, 10); err == nil {
		t.Error("version 10 has streams")
	}
}

func set(at int, w uint32) func([]byte) []byte {
	return func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b[at:], w)
		return b
	}
}
