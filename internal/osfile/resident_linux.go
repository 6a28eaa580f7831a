//go:build linux

package osfile

import (
	"os"
	"strconv"
	"strings"
)

// Resident is how much of this process is in memory, and how much of that is its own and not a file's, in bytes; 0 if the system
// does not say.
func Resident() (all, anonymous int64) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // "Rss:  1234 kB"
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		switch fields[0] {
		case "Rss:":
			all = n << 10
		case "Anonymous:":
			anonymous = n << 10
		}
	}
	return all, anonymous
}
