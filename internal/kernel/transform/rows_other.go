//go:build !amd64

package transform

var machineRows []*Row
