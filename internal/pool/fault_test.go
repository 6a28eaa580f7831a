//go:build unix

package pool

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// A fault in a mapped file is an error of the loop's caller, whoever meets it, and the workers go on to serve others.
func TestFaultOfAWorkerIsTheCallers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	path := filepath.Join(t.TempDir(), "data.bin")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := osfile.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		err := func() (err error) {
			defer osfile.Protect().Catch(&err)
			For(256, 1, func(lo, hi int) { runtime.Gosched(); _ = string(m.Bytes()[lo<<12 : hi<<12]) })
			return nil
		}()
		if !errors.Is(err, osfile.ErrChanged) {
			t.Fatalf("got %v", err)
		}
	}
	visits := 0
	For(100, 100, func(lo, hi int) { visits += hi - lo })
	if visits != 100 || set.callers.Load() != 0 {
		t.Errorf("%d visits, %d have not left", visits, set.callers.Load())
	}
}
