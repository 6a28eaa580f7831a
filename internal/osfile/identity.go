package osfile

import (
	"os"
	"time"
)

// An Identity is what a file is known by without reading it: as long as it is the
// same, so is the content. Modified can be set by anybody, as cp -p and rsync do;
// Changed is the system's own, and moves with every write and every other change.
type Identity struct {
	Device, Inode     uint64
	Size              int64
	Modified, Changed int64 // in nanoseconds
}

// settling is how long a file must have been left alone for its identity to say
// anything: the clocks of file systems tick every few milliseconds, some every two
// seconds, and what is written twice within a tick has the same times.
const settling = 2 * time.Second

// Settled reports whether a write after now changes the identity.
func (id Identity) Settled(now time.Time) bool {
	last := now.Add(-settling).UnixNano()
	return id.Modified < last && id.Changed < last
}

// Identity is what the file of the mapping is known by, as it is now; of a copy,
// as it was when it was read. There is none for memory, for a file that changed
// while it was copied, and where the system cannot tell.
func (m *Mapping) Identity() (Identity, bool) {
	if m.sys == nil {
		return m.copied, m.copied != Identity{}
	}
	id, err := m.sys.identity()
	return id, err == nil
}

// IdentityOf is what an open file is known by.
func IdentityOf(f *os.File) (Identity, bool) {
	id, err := fileIdentity(f)
	return id, err == nil
}
