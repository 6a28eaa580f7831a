package td

import (
	"maps"
	"sync/atomic"
)

// A Codec is how the tasks of a version lie in words. A task begins with its
// header.
type Codec struct {
	HeaderWords int // the least that a header has

	// Decode reads one task; nothing may follow it in words. An error about the
	// format is a *FormatError.
	Decode func(v Version, words []uint32) (*Task, error)

	// Encode is the inverse, with what records begin with made anew.
	Encode func(t *Task) ([]uint32, error)

	// Word is the index of the word, in an encoded task, that is written to a
	// register, or -1.
	Word func(t *Task, register uint32) int
}

// Links are the header fields by which the tasks of a stream name each other.
type Links struct {
	TaskID     *Field
	NextOffset *Field // where the next task begins, in bytes of the text; 0: there is none
	NextWords  *Field // its words less one
}

// maxWords is the size of the longest task.
func (l *Links) maxWords() int { return 1 << l.NextWords.Width }

// KernelRegisters is how the tasks of a version load kernel streams.
type KernelRegisters struct {
	// Shape reads the shape of the kernel. loads is false if there is none.
	Shape func(r *Registers) (k Kernel, loads bool, err error)

	Base, Enable *Field         // the entry of the base-address table that offsets count from, and whether it is one
	Streams      []StreamFields // by engine
}

// StreamFields is one kernel stream.
type StreamFields struct{ Enable, Offset, Size *Field }

// tables are the tables by version. It is replaced, not changed.
var tables atomic.Pointer[map[Version]*Layout]

// What the tables say beside their rows. The codecs ask the rows, so that these
// cannot name them.
func init() {
	v7.Codec, v7.Extends = runs, true
	v7.Links = Links{V7TaskID, V7NextOffset, V7NextWords}
	v7.Kernels = &KernelRegisters{Shape: v7KernelOf, Base: V7KernelBase[0], Enable: V7KernelBaseEnable[0]}
	for _, c := range V7KernelChannel {
		v7.Kernels.Streams = append(v7.Kernels.Streams, StreamFields{c.Config.Enable, c.Offset, c.Size})
	}

	v10.Codec = Codec{Decode: decodeV10, Encode: encodeV10, Word: wordV10}

	v256.Codec, v256.Links = runs, v256Links

	tables.Store(&map[Version]*Layout{V7: v7, V10: v10, V256: v256})
}

// LayoutOf returns the table of a version, or nil.
func LayoutOf(v Version) *Layout { return (*tables.Load())[v] }

// AddLayout makes the table of another version known, until it is removed again:
// for tests, of versions that are made up.
func AddLayout(l *Layout) (remove func()) {
	with := maps.Clone(*tables.Load())
	if with[l.Version] != nil {
		panic("bug: there is a layout of " + l.Version.String())
	}
	with[l.Version] = l
	tables.Store(&with)
	return func() {
		without := maps.Clone(*tables.Load())
		delete(without, l.Version)
		tables.Store(&without)
	}
}

// A FieldError is about what stands in a field of a task.
type FieldError struct {
	Field *Field
	Value uint32
	Msg   string
}

func (e *FieldError) Error() string { return "td: " + e.Field.String() + ": " + e.Msg }
