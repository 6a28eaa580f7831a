package td

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// The shared data: Apple's programs and the records of what Apple's compiler
// emitted. Both are third-party and stay outside the repository.

// A program is what these tests need of a real container.
type program struct {
	name       string
	text       []byte
	consts     []byte
	start      int // of the first task in the text
	firstWords int
}

// programs reads the text and the constants of the real containers, with no
// more of the container than that takes.
func programs(t testing.TB) []program {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "hwx"), "*.hwx"))
	if err != nil || len(files) != 17 {
		t.Fatalf("want 17 containers, got %d (%v)", len(files), err)
	}
	var all []program
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := program{name: filepath.Base(file)}
		u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
		textAddr := 0
		at := 0x20
		for range u32(0x10) {
			switch u32(at) {
			case 0x19:
				for i := range u32(at + 0x40) {
					s := at + 0x48 + 0x50*i
					name := string(bytes.TrimRight(b[s:s+16], "\x00"))
					segment := string(bytes.TrimRight(b[s+16:s+32], "\x00"))
					data := func() []byte { return b[u32(s+0x30):][:u32(s+0x28)] }
					if segment == "__TEXT" && name == "__text" {
						p.text, textAddr = data(), u32(s+0x20)
					}
					if segment == "__TEXT" && name == "__const" {
						p.consts = data()
					}
				}
			case 0x04:
				if u32(at+8) == 1 {
					p.start, p.firstWords = u32(at+0x810)-textAddr, u32(at+0x818)+1
				}
			}
			at += u32(at + 4)
		}
		all = append(all, p)
	}
	return all
}

// A record is what Apple's compiler emitted for a small program.
type record struct {
	Case    string
	Target  string
	MIL     string
	Weights struct {
		Storage string
		Shape   []int
		Shapes  [][]int
		Payload int   `json:"payload_bytes"`
		Offsets []int `json:"record_offsets"`
	}
	Constants *struct {
		Size   int
		SHA256 string
		Prefix string `json:"prefix_128_sha256"`
	} `json:"constant_section"`
	Tasks []struct {
		Header  []testkit.HexWord `json:"header_words"`
		Records []struct {
			Address, Header testkit.HexWord
			Count           int
		}
		Blocks map[string]struct {
			Words map[testkit.HexWord]testkit.HexWord
		}
		Size int `json:"size_bytes"`
	} `json:"task_descriptors"`
}

// records reads the records of a target that have tasks.
func records(t testing.TB, target string) []*record {
	t.Helper()
	return testkit.Records(t, target, func(r *record) bool { return len(r.Tasks) > 0 })
}

// words returns the words of a task, record headers as recorded.
func (r *record) words(t testing.TB, task int) []uint32 {
	t.Helper()
	d := &r.Tasks[task]
	registers := make(map[testkit.HexWord]testkit.HexWord)
	for _, b := range d.Blocks {
		for a, w := range b.Words {
			registers[a] = w
		}
	}
	var words []uint32
	for _, w := range d.Header {
		words = append(words, uint32(w))
	}
	for _, rec := range d.Records {
		words = append(words, uint32(rec.Header))
		for i := range rec.Count {
			w, ok := registers[rec.Address+testkit.HexWord(4*i)]
			if !ok {
				t.Fatalf("%s: task %d: register %#x is not recorded", r.Case, task, uint32(rec.Address)+4*uint32(i))
			}
			words = append(words, uint32(w))
		}
	}
	if 4*len(words) != d.Size {
		t.Fatalf("%s: task %d: %d bytes, recorded are %d", r.Case, task, 4*len(words), d.Size)
	}
	return words
}

// tasks decodes all tasks of a record.
func (r *record) tasks(t testing.TB) []*Task {
	t.Helper()
	var tasks []*Task
	for i := range r.Tasks {
		task, err := Decode(V7, r.words(t, i))
		if err != nil {
			t.Fatalf("%s: task %d: %v", r.Case, i, err)
		}
		tasks = append(tasks, task)
	}
	return tasks
}
