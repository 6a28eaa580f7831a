package encode

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	v256 "github.com/espalier-ane/espalier/internal/encode/v256"
	v7 "github.com/espalier-ane/espalier/internal/encode/v7"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// An Encoder makes tasks of layers in one encoding, for one target. It declines a layer with a reason, a *diag.Reason where the
// encoding is native: which register or rule stands in the way. Names and Keep decline none, and answer with yes or no.
type Encoder interface {
	// Takes reports whether the encoding has tasks for a layer, as far as its kind and its values tell: nil, or why not. It is
	// asked before a value is copied, or a segment laid out, for such tasks. Choose may decline what it takes.
	Takes(s *segment.Segment, l *anec.Layer) error

	// Layout is how a value lies such that tasks can read and write it: its strides, and the bytes that it takes. Align is
	// what it has to begin on.
	Layout(t anec.Type) (strides [anec.NumAxes]int64, size int64)
	Align() int64

	// Names reports whether tasks can name the place of a value. Where they cannot, it is copied to one that they can; a layer
	// that has no tasks for all that says why in Choose.
	Names(at segment.Spot, t anec.Type) bool

	// Groups finds layers that another one's tasks compute along: which one that is.
	Groups(s *segment.Segment, layers []*anec.Layer) map[*anec.Layer]*anec.Layer

	// Choose selects the tasks of a choice. It is asked once for a layer, by itself or with others. Tasks name memories by their
	// numbers. Fits declines those that words cannot say, or that the profile of numerics does not allow; the next encoder is
	// asked then.
	Choose(c *segment.Choice) ([]segment.Task, error)
	Fits(c *segment.Choice, tasks []segment.Task) error

	// Keep leaves a result on chip that the last task of one layer makes and the first of another reads, and reports whether
	// it can. Where it cannot, the result goes through memory, as it was planned: both layers have their tasks either way.
	Keep(v *anec.Value, at segment.Spot, from, to []segment.Task) bool

	// Encode makes the words of a program's tasks, when addresses are bound: its own, and those of the other encoding.
	Encode(tasks []segment.Task) ([]*td.Task, error)
}

// An encoding is a row of the list.
type encoding struct {
	name string
	new  func(*hal.Target) Encoder
}

var encodings = []encoding{
	{"v7", func(t *hal.Target) Encoder { return v7.New(t) }},
	{"v256", func(*hal.Target) Encoder { return v256.Encoder{} }},
}

// Add adds a row, for tests of encodings that no product file has. It returns how to take it out.
func Add(name string, new func(*hal.Target) Encoder) (remove func()) {
	encodings = append(encodings, encoding{name, new})
	return func() {
		encodings = slices.DeleteFunc(encodings, func(e encoding) bool { return e.name == name })
	}
}

// Of are the encoders of a target, one or two: the native one first, if the chip has one, and last the one that takes every layer.
func Of(t *hal.Target) (list []Encoder) {
	for _, name := range t.Encoders {
		i := slices.IndexFunc(encodings, func(e encoding) bool { return e.name == name })
		if i < 0 {
			panic(fmt.Sprintf("bug: target %s has no encoding %s", t.Name, name))
		}
		list = append(list, encodings[i].new(t))
	}
	return list
}
