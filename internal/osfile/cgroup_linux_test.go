//go:build linux

package osfile

import (
	"testing"
	"testing/fstest"
)

// A container's memory is the least limit from its control group up, in either version of the hierarchy.
func TestCgroupMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, tc := range []struct {
		name  string
		files fstest.MapFS
		want  int64
	}{
		{"no control groups", fstest.MapFS{}, 0},
		{"version 2, none limited", fstest.MapFS{
			"proc/self/cgroup": file("0::/user.slice\n"), "sys/fs/cgroup/user.slice/memory.max": file("max\n"),
		}, 0},
		{"version 2, a group above is limited", fstest.MapFS{
			"proc/self/cgroup": file("0::/a/b/c\n"), "sys/fs/cgroup/a/b/c/memory.max": file("max\n"),
			"sys/fs/cgroup/a/b/memory.max": file("4294967296\n"), "sys/fs/cgroup/a/memory.max": file("8589934592\n"),
		}, 4 << 30},
		{"version 2, in a container", fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("1073741824\n"),
		}, 1 << 30},
		{"version 1, the path is the machine's", fstest.MapFS{
			"proc/self/cgroup":                           file("7:cpu,cpuacct:/docker/f00\n3:memory:/docker/f00\n0::/x\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("536870912\n"),
		}, 512 << 20},
		{"version 1, no limit", fstest.MapFS{
			"proc/self/cgroup": file("3:memory:/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n"),
		}, 0},
		{"damaged", fstest.MapFS{
			"proc/self/cgroup": file("0::/../..\nx\n0::\n"), "sys/fs/cgroup/memory.max": file("lots\n"),
		}, 0},
	} {
		if got := cgroupMemory(tc.files); got != tc.want {
			t.Errorf("%s: %d bytes, want %d", tc.name, got, tc.want)
		}
	}
}
