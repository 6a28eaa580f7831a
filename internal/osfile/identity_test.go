package osfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What happens to a file shows in its identity, and what happens to its name does not.
func TestIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "one")
	for name, load := range map[string]func(string) (*Mapping, error){"mapped": Map, "copied": Copy} {
		m, err := load(path)
		if err != nil {
			t.Fatal(err)
		}
		id, ok := m.Identity()
		if !ok {
			t.Skip("this system does not tell files apart")
		}
		if id.Size != 3 || id.Inode == 0 || id.Modified == 0 || id.Changed == 0 {
			t.Errorf("%s: %+v", name, id)
		}
		if id.Settled(time.Now()) || !id.Settled(time.Now().Add(time.Minute)) || id.Settled(time.Now().Add(-time.Minute)) {
			t.Errorf("%s: a file that was just written: settled wrongly", name)
		}
		if again, _ := m.Identity(); again != id {
			t.Errorf("%s: asked twice: %+v and %+v", name, id, again)
		}
		m.Close()
	}

	m, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	first, _ := m.Identity()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	second, _ := m.Identity()
	if second == first {
		t.Error("the time was set back, and the identity is the same")
	}
	if second.Settled(time.Now()) {
		t.Error("a file that was changed just now counts as settled, because a time was set back")
	}
	write(path+"2", "two")
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	n, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if other, _ := n.Identity(); other.Inode == second.Inode {
		t.Error("another file has the same inode")
	}
	if kept, _ := m.Identity(); kept.Inode != second.Inode || kept.Size != second.Size {
		t.Error("a file that lost its name is another one")
	}
	if _, ok := Held([]byte("memory")).Identity(); ok {
		t.Error("memory has an identity")
	}
}
