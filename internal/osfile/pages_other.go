//go:build !unix

package osfile

func mapPages(int) ([]byte, bool) { return nil, false }

func unmapPages([]byte) {}
