//go:build unix

package driver_test

import (
	"syscall"
	"time"
)

// processTime is the processor time that the process has had.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
