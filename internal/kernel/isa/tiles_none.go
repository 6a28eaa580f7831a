//go:build amd64 && !linux

package isa

// tilesAllowed: how other systems give the tile registers is not known to us.
func tilesAllowed() bool { return false }
