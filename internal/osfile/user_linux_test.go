//go:build linux

package osfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asOrdinaryUser makes the rest of the test touch files as an ordinary user
// would, since permissions do not bind root. dir stays within reach.
func asOrdinaryUser(t *testing.T, dir string) {
	t.Helper()
	const nobody = 65534
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	// The file system's view of the user belongs to the thread.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if err := unix.Setfsuid(nobody); err != nil {
		t.Skipf("running as root, and %v", err)
	}
	t.Cleanup(func() { unix.Setfsuid(0) })
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != nobody {
		t.Skip("running as root, whom permissions do not bind")
	}
}
