//go:build linux

package osfile

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A process knows the limits that it was started with: those of the shell, and GOMEMLIMIT.
func TestMemoryLimitOfProcess(t *testing.T) {
	const ask = "ESPALIER_TEST_MEMORY_LIMIT"
	if os.Getenv(ask) != "" {
		fmt.Printf("limit %d\n", MemoryLimit())
		return
	}
	for _, tc := range []struct {
		name, shell, env string
		want             int64
	}{
		{"address space", "ulimit -v 2097152", "GOMEMLIMIT=off", 1 << 30},
		{"data", "ulimit -d 1048576", "GOMEMLIMIT=off", 512 << 20},
		{"GOMEMLIMIT", "true", "GOMEMLIMIT=123MiB", 123 << 20},
		{"the least of all", "ulimit -v 2097152", "GOMEMLIMIT=8GiB", 1 << 30},
	} {
		c := exec.Command("sh", "-c", tc.shell+` && exec "$0" -test.run='^TestMemoryLimitOfProcess$'`, os.Args[0])
		c.Env = append(os.Environ(), ask+"=1", tc.env)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", tc.name, err, out)
		}
		if want := fmt.Sprintf("limit %d\n", tc.want); !strings.Contains(string(out), want) {
			t.Errorf("%s: got %q, want %q", tc.name, out, want)
		}
	}
}
