//go:build !amd64

package vec

func callStandardize(*standardization) bool { return false }

func rowsInOneCall(int) bool { return false }
