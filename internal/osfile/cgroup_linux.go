//go:build linux

package osfile

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// containerMemory is the memory of the control group that the process is in; 0 if none is limited.
func containerMemory() int64 { return cgroupMemory(os.DirFS("/")) }

// cgroupMemory is the least limit on the way from the root to the process's control group. /proc/self/cgroup has a line for
// each hierarchy, number:controllers:path. Version 2 is the line "0::/path", and its file memory.max; version 1 is
// the one with the controller memory, and its file memory.limit_in_bytes. In a container the path may be one that
// only the machine outside sees: the groups that are not there are passed over, and the root is the container's own.
//
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
func cgroupMemory(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		mounts, file := []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, "memory.max"
		if fields[1] != "" {
			if !strings.Contains(","+fields[1]+",", ",memory,") {
				continue
			}
			mounts, file = []string{"sys/fs/cgroup/memory"}, "memory.limit_in_bytes"
		}
		for _, mount := range mounts {
			for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
				if n := readLimit(root, path.Join(mount, group, file)); n > 0 && (least == 0 || n < least) {
					least = n
				}
				if group == "/" {
					break
				}
			}
		}
	}
	return least
}

// readLimit reads a file that has a number of bytes, or "max"; 0 if there is no limit in it. Version 1 has a number near
// the largest for none.
func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n > math.MaxInt64/2 {
		return 0
	}
	return n
}
