//go:build linux || darwin

package osfile

import (
	"math"

	"golang.org/x/sys/unix"
)

// processMemory is the least of the limits that a shell sets with ulimit -v and -d; 0 if there is none.
func processMemory() int64 {
	least := int64(0)
	for _, which := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var r unix.Rlimit
		if unix.Getrlimit(which, &r) != nil || r.Cur > math.MaxInt64/2 { // RLIM_INFINITY differs between systems
			continue
		}
		if n := int64(r.Cur); least == 0 || n < least {
			least = n
		}
	}
	return least
}
