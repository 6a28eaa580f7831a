//go:build linux && amd64

package isa

import "golang.org/x/sys/unix"

// tilesAllowed asks the system for the tile registers, whose state it saves only
// for processes that asked. The permission holds for all threads to come, and
// this runs before there are any of ours.
func tilesAllowed() bool {
	const (
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData          = 18     // XFEATURE_XTILEDATA
	)
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
