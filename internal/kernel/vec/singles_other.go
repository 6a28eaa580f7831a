//go:build !amd64

package vec

func callSingles(Function, *function) {}
