//go:build amd64

package vec

// callStandardize is to a row what callFunction is to functions. It reports whether it
// has put the rest too.
//
//go:noinline
func callStandardize(s *standardization) bool {
	if wide {
		standardizeAVX512(s)
	} else {
		standardizeAVX2(s)
	}
	return wide
}

// rowsInOneCall reports whether a call takes several rows of n.
func rowsInOneCall(n int) bool { return wide || n%8 == 0 }

//go:noescape
func standardizeAVX512(s *standardization)
