package testkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// HexWord is a number as the records of Apple's compiler write it: "0x1f800".
type HexWord uint32

// UnmarshalText reads a number in any base that Go writes.
func (w *HexWord) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 32)
	*w = HexWord(v)
	return err
}

// Records reads what Apple's compiler emitted for a target, from the shared data: those of which keep says yes, by the
// names of the files. R has the fields that a test needs.
func Records[R any](t testing.TB, target string, keep func(*R) bool) []*R {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Shared(t, "oracles", target), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no records of %s (%v)", target, err)
	}
	var kept []*R
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := new(R)
		if err := json.Unmarshal(data, r); err != nil {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
		if keep(r) {
			kept = append(kept, r)
		}
	}
	return kept
}
