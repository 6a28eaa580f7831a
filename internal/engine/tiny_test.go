package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/pool"
)

// TestTinyProgramsRunAlone holds that a program that takes a few microseconds wakes
// nobody, and that one that takes long has help.
func TestTinyProgramsRunAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	type program struct {
		what string
		file *hwx.File
		help bool
	}
	programs := []program{{"relu", own(t, "relu").file(t), false}}
	size := dims{64, 56, 56}
	conv := convolutionOf(size, size, 3, 2)
	for encoding, file := range conv.files(t) {
		programs = append(programs, program{"3x3 by " + encoding, file, true})
	}
	for size, help := range map[dims]bool{{4, 16, 32}: false, {256, 64, 64}: true} {
		sum := sumOf(size)
		for encoding, file := range sum.files(t) {
			programs = append(programs, program{fmt.Sprint("sum of ", size, " by ", encoding), file, help})
		}
	}
	for _, test := range programs {
		p := load(t, test.file, plain)
		c := p.NewContext()
		woken, joined := pool.Counts()
		nowWoken, nowJoined := woken, joined
		for i := 0; i < 20 || test.help && i < 200 && nowWoken == woken && nowJoined == joined; i++ {
			if err := p.RunAll(context.Background(), c); err != nil {
				t.Fatal(err)
			}
			nowWoken, nowJoined = pool.Counts()
		}
		if help := nowWoken > woken || nowJoined > joined; help != test.help {
			t.Errorf("%s: others were woken %d times and helped %d times", test.what, nowWoken-woken, nowJoined-joined)
		}
	}
}
