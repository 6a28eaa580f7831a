package td

import (
	"fmt"
)

// Version is the version of a task descriptor.
type Version uint16

// The versions that have a layout.
const (
	V7   Version = 7   // H13
	V10  Version = 10  // as the guide describes it; unverified
	V256 Version = 256 // ours, for the target virtual
)

func (v Version) String() string { return fmt.Sprintf("version %d", uint16(v)) }

// A Task is one pass of an engine: a header for the scheduler and register
// writes in the order of the stream.
type Task struct {
	Version Version
	Header  []uint32
	Records []Record
}

// A Record is one run of writes to consecutive registers.
type Record struct {
	Addr  uint32 // byte address of the first register, a multiple of 4
	Words []uint32
}

// A FormatError is a task, stream or kernel stream that breaks its format.
type FormatError struct {
	Offset int64  // of the byte where it was noticed, from the beginning of the input
	Task   int    // index of the task in its stream, -1 if there is none
	Msg    string // what was expected and what was found
}

func (e *FormatError) Error() string {
	if e.Task >= 0 {
		return fmt.Sprintf("td: task %d: byte %#x: %s", e.Task, e.Offset, e.Msg)
	}
	return fmt.Sprintf("td: byte %#x: %s", e.Offset, e.Msg)
}

func formatError(offset int, format string, args ...any) *FormatError {
	return &FormatError{Offset: int64(offset), Task: -1, Msg: fmt.Sprintf(format, args...)}
}

// A record begins with one word: the count of its words less one, and the byte
// address of the first register (h13 2.1).
const (
	recordCountShift = 26
	recordAddrMask   = 1<<recordCountShift - 1
	maxRecordWords   = 64
)

// runs is the codec of versions 7 and 256: runs of writes to consecutive
// registers.
var runs = Codec{HeaderWords: headerWords, Decode: decodeRuns, Encode: encodeRuns, Word: runWord}

// headerWords is the size of a header of versions 7 and 256 without the word
// that its own flag announces.
const headerWords = 10

// wordsOfHeader returns the number of header words of a task of versions 7
// and 256, of which the first headerWords are given.
func wordsOfHeader(header []uint32) int {
	if V7ExtraWord.Of(header[V7ExtraWord.word()]) != 0 {
		return headerWords + 1
	}
	return headerWords
}

// Decode reads one task. Nothing may follow it in words.
func Decode(v Version, words []uint32) (*Task, error) {
	l := LayoutOf(v)
	if l == nil {
		return nil, formatError(0, "%v is not known", v)
	}
	return l.Codec.Decode(v, words)
}

// Encode returns the words of the task, with the record headers made anew.
func (t *Task) Encode() ([]uint32, error) {
	l := LayoutOf(t.Version)
	if l == nil {
		return nil, fmt.Errorf("td: %v is not known", t.Version)
	}
	return l.Codec.Encode(t)
}

// WordOf is the index of the word, in the encoded task, that is written to a
// field's register, or -1.
func (t *Task) WordOf(f *Field) int { return LayoutOf(t.Version).Codec.Word(t, f.Addr) }

func decodeRuns(v Version, words []uint32) (*Task, error) {
	if len(words) < headerWords {
		return nil, formatError(0, "a header has %d words, here are %d", headerWords, len(words))
	}
	n := wordsOfHeader(words)
	if len(words) < n {
		return nil, formatError(4*len(words), "the header announces word %d, the task ends", n-1)
	}
	// One array holds all words of the task, so that a program of many tasks
	// stays in few allocations.
	words = append([]uint32(nil), words...)
	t := &Task{Version: v, Header: words[:n:n]}
	for at := n; at < len(words); {
		head := words[at]
		count := int(head>>recordCountShift) + 1
		addr := head & recordAddrMask
		switch {
		case addr%4 != 0:
			return nil, formatError(4*at, "record address %#x is no multiple of 4", addr)
		case int64(addr)+4*int64(count) > recordAddrMask+1:
			return nil, formatError(4*at, "record of %d words at %#x leaves the register space", count, addr)
		case count > len(words)-at-1:
			return nil, formatError(4*at, "record of %d words at %#x, but %d words are left in the task", count, addr, len(words)-at-1)
		}
		at++
		t.Records = append(t.Records, Record{addr, words[at : at+count : at+count]})
		at += count
	}
	return t, nil
}

func encodeRuns(t *Task) ([]uint32, error) {
	n := headerWords
	if len(t.Header) >= headerWords {
		n = wordsOfHeader(t.Header)
	}
	if len(t.Header) != n {
		return nil, fmt.Errorf("td: a header of %v has %d words, here are %d", t.Version, n, len(t.Header))
	}
	words := append([]uint32(nil), t.Header...)
	for i, r := range t.Records {
		switch {
		case len(r.Words) < 1 || len(r.Words) > maxRecordWords:
			return nil, fmt.Errorf("td: record %d at %#x: want 1 to %d words, got %d", i, r.Addr, maxRecordWords, len(r.Words))
		case r.Addr%4 != 0 || int64(r.Addr)+4*int64(len(r.Words)) > recordAddrMask+1:
			return nil, fmt.Errorf("td: record %d: %d words at %#x are outside the register space or not on a multiple of 4", i, len(r.Words), r.Addr)
		}
		words = append(words, uint32(len(r.Words)-1)<<recordCountShift|r.Addr)
		words = append(words, r.Words...)
	}
	return words, nil
}

func runWord(t *Task, register uint32) int {
	at := len(t.Header)
	for _, r := range t.Records {
		at++ // the record's head
		if i := (register - r.Addr) / 4; register >= r.Addr && i < uint32(len(r.Words)) {
			return at + int(i)
		}
		at += len(r.Words)
	}
	return -1
}

// Clone returns a copy that shares nothing with t.
func (t *Task) Clone() *Task {
	c := &Task{Version: t.Version, Header: append([]uint32(nil), t.Header...)}
	c.Records = make([]Record, len(t.Records))
	for i, r := range t.Records {
		c.Records[i] = Record{r.Addr, append([]uint32(nil), r.Words...)}
	}
	return c
}

// at returns the place where the task last writes a register.
func (t *Task) at(addr uint32) *uint32 {
	for i := len(t.Records) - 1; i >= 0; i-- {
		r := &t.Records[i]
		if addr >= r.Addr && (addr-r.Addr)/4 < uint32(len(r.Words)) && addr%4 == 0 {
			return &r.Words[(addr-r.Addr)/4]
		}
	}
	return nil
}

// Word returns what the task writes to a register, and whether it does.
func (t *Task) Word(addr uint32) (uint32, bool) {
	if p := t.at(addr); p != nil {
		return *p, true
	}
	return 0, false
}

// SetWord changes what the task writes to a register. It is an error if no
// record of the task covers the register.
func (t *Task) SetWord(addr, value uint32) error {
	p := t.at(addr)
	if p == nil {
		return fmt.Errorf("td: the task does not write register %#x", addr)
	}
	*p = value
	return nil
}

// Get returns the value of a field, and whether the task has it: for a register
// field, whether the task writes the register.
func (t *Task) Get(f *Field) (uint32, bool) {
	p := t.fieldWord(f)
	if p == nil {
		return 0, false
	}
	return f.Of(*p), true
}

// Set changes a field. It is an error if the task does not have it or the value
// does not fit.
func (t *Task) Set(f *Field, value uint32) error {
	p := t.fieldWord(f)
	if p == nil {
		return fmt.Errorf("td: %s: the task has no word for it", f)
	}
	w, err := f.Put(*p, value)
	if err != nil {
		return err
	}
	*p = w
	return nil
}

func (t *Task) fieldWord(f *Field) *uint32 {
	if !f.Block.Header {
		return t.at(f.Addr)
	}
	if i := f.word(); i < len(t.Header) {
		return &t.Header[i]
	}
	return nil
}
