package td

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// taskAlign is the granule of tasks in a stream (h13 2.1).
const taskAlign = 0x100

// Placed is a task of a stream and the byte offset where it stands.
type Placed struct {
	Offset int
	*Task
}

// DecodeStream walks the tasks of a text section: the first has the given
// number of words and stands at offset start, each names the place and the size
// of the next, 0 ends the list. What stands between the tasks is not looked at.
//
// A list that leaves the text, comes back to a task or runs into one is an
// error.
func DecodeStream(v Version, text []byte, start, words int) ([]Placed, error) {
	return DecodeMixed(v, text, start, words, nil)
}

// DecodeMixed is DecodeStream where some tasks, by their number, are of another
// version.
func DecodeMixed(v Version, text []byte, start, words int, foreign map[int]Version) ([]Placed, error) {
	var placed []Placed
	// taken says for every granule of the text which task has it, counted from
	// 1. Tasks begin on granules, so those that share bytes share a granule.
	taken := make([]int32, len(text)/taskAlign+1)
	at, from := start, start // from is the word that says at
	most := 0                // words of a task, as far as its predecessor can say
	for {
		task := len(placed)
		fail := func(offset int, format string, args ...any) ([]Placed, error) {
			err := formatError(offset, format, args...)
			err.Task = task
			return nil, err
		}
		of := v
		if other, ok := foreign[task]; ok {
			of = other
		}
		layout := LayoutOf(of)
		if layout == nil || layout.Links.NextOffset == nil {
			return fail(from, "%v has no streams", of)
		}
		if most == 0 {
			most = layout.Links.maxWords()
		}
		size, least := 4*words, layout.Codec.HeaderWords
		switch {
		case at < 0 || at%taskAlign != 0:
			return fail(from, "a task begins at a multiple of %#x, this one at %#x", taskAlign, at)
		case words < least || words > most:
			return fail(from, "a task has %d to %d words, this one %d", least, most, words)
		case at > len(text) || size > len(text)-at:
			return fail(from, "%d bytes at %#x are not in the text of %#x bytes", size, at, len(text))
		}
		for granule := at / taskAlign; granule*taskAlign < at+size; granule++ {
			if owner := taken[granule]; owner != 0 {
				other := placed[owner-1].Offset
				if other == at {
					return fail(from, "the list comes back to the task at %#x", at)
				}
				return fail(from, "bytes %#x..%#x overlap the task at %#x", at, at+size, other)
			}
			taken[granule] = int32(task + 1)
		}

		t, err := Decode(of, wordsOf(text[at:at+size]))
		if err != nil {
			var f *FormatError
			if errors.As(err, &f) {
				f.Offset += int64(at)
				f.Task = task
			}
			return nil, err
		}
		placed = append(placed, Placed{at, t})

		links := &layout.Links
		next, _ := t.Get(links.NextOffset)
		if next == 0 {
			return placed, nil
		}
		less, _ := t.Get(links.NextWords)
		from, most = at+int(links.NextOffset.Addr), links.maxWords()
		at, words = int(next), int(less)+1
	}
}

func wordsOf(b []byte) []uint32 {
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return words
}

// EncodeStream places the tasks one after the other and writes them with their
// links, sizes and record headers made anew. The tasks stay as they are. The
// text ends with the last task.
func EncodeStream(tasks []*Task) ([]byte, error) {
	encoded, links := make([][]uint32, len(tasks)), make([]*Links, len(tasks))
	for i, t := range tasks {
		layout := LayoutOf(t.Version)
		if layout == nil || layout.Links.NextOffset == nil {
			return nil, fmt.Errorf("td: task %d: %v has no streams", i, t.Version)
		}
		links[i] = &layout.Links
		words, err := t.Encode()
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
		if most := links[max(i-1, 0)].maxWords(); len(words) > most {
			return nil, fmt.Errorf("td: task %d has %d words, the most are %d", i, len(words), most)
		}
		encoded[i] = words
	}
	var text []byte
	for i, words := range encoded {
		var next, size uint32
		if i+1 < len(encoded) {
			end := len(text) + 4*len(words)
			next = uint32(alignUp(end, taskAlign))
			size = uint32(len(encoded[i+1]) - 1)
		}
		put(words, links[i].NextOffset, next)
		put(words, links[i].NextWords, size)
		for _, w := range words {
			text = binary.LittleEndian.AppendUint32(text, w)
		}
		if next != 0 {
			text = append(text, make([]byte, int(next)-len(text))...)
		}
	}
	return text, nil
}

// put sets a header field whose value is known to fit.
func put(header []uint32, f *Field, value uint32) {
	w, err := f.Put(header[f.word()], value)
	if err != nil {
		panic("bug: " + err.Error())
	}
	header[f.word()] = w
}

func alignUp(n, to int) int { return (n + to - 1) / to * to }
