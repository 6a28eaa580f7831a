package diag_test

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/diag"
)

// A rule that takes kernels up to a width, and says why it does not take others.
func ExampleDecline() {
	take := func(width int) *diag.Reason {
		if width > 7 {
			return diag.Decline(diag.NoTask, "a kernel of %d along the width", width).In("KernelCfg.Width").Measure(7, width)
		}
		return nil
	}
	if why := take(9); why != nil {
		fmt.Println(why)
	}
	fmt.Println(take(3) == nil)
	// Output:
	// KernelCfg.Width: a kernel of 9 along the width (limit 7, found 9)
	// true
}
