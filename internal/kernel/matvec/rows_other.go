//go:build !amd64

package matvec

var machineRows []*Row
