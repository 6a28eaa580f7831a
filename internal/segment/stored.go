package segment

import (
	"slices"
)

// What tasks of one layer do to each other through memory.

// ReadsStored reports whether a task of the array or planar engine reads where an earlier one has stored a value. Tasks that take
// a value piece by piece, and leave each in its place, do not.
func ReadsStored(tasks []Task) bool {
	for i, t := range tasks {
		o := t.Unit
		r := o.Result
		if r == nil || r.Backing || r.Base == Temporaries {
			continue
		}
		size := o.Out
		if o.Exchange {
			size.C, size.W = size.W, size.C
		}
		lo, hi := r.Hull(size, o.Groups)
		if slices.ContainsFunc(tasks[i+1:], func(later Task) bool { return later.Unit.Reads(r.Base, lo, hi) }) {
			return true
		}
	}
	return false
}

// WritesOver reports whether tasks allow that what they store in y lies over what they read in x.
func WritesOver(tasks []Task, x, y *Buffer) bool {
	var joined []Task
	for _, t := range tasks {
		if t.Unit == nil {
			return true // it goes element by element
		}
		t.Unit = t.Unit.Bind(func(memory, offset int) (int, int) {
			if memory == x.ID {
				memory = y.ID
			}
			return memory, offset
		})
		joined = append(joined, t)
	}
	return !ReadsStored(joined)
}
