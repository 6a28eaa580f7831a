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
	var total [4]int
	team := NewTeam(4, func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			total[worker] += int(m.Bytes()[i<<12])
		}
	})
	for name, loop := range map[string]func(){
		"For":  func() { For(256, 1, func(lo, hi int) { runtime.Gosched(); _ = string(m.Bytes()[lo<<12 : hi<<12]) }) },
		"Team": func() { team.For(256, 1) },
	} {
		for range 20 {
			err := func() (err error) {
				defer osfile.Protect().Catch(&err)
				loop()
				return nil
			}()
			if !errors.Is(err, osfile.ErrChanged) {
				t.Fatalf("%s: got %v", name, err)
			}
		}
	}
	visits := 0
	For(100, 100, func(lo, hi int) { visits += hi - lo })
	if visits != 100 || helpers.Load() != 0 {
		t.Errorf("%d visits, %d helpers", visits, helpers.Load())
	}
}
