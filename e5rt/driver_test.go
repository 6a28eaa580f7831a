package e5rt_test

import (
	"sync"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/driver"
)

// Every dispatch is a job of the target's engine, whoever runs it.
func TestThroughDriver(t *testing.T) {
	target, err := hal.Lookup("virtual")
	check(t, err)
	d := driver.Open(target)
	f := openText(t, tiny())
	before := d.Counts().Done
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			o := f.NewOperation()
			for range 25 {
				check(t, o.Run(patience(t), nil))
			}
			if n := o.Stats().Dispatches; n != 25 {
				t.Errorf("%d dispatches", n)
			}
		})
	}
	wg.Wait()
	if n := d.Counts().Done - before; n < 100 { // other tests may run too
		t.Errorf("%d jobs of 100", n)
	}
}
