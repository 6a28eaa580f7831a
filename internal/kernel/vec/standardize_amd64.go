//go:build amd64

package vec

// callStandardize is to a row what callFunction is to functions.
//
//go:noinline
func callStandardize(s *standardization) { standardizeAVX512(s) }

//go:noescape
func standardizeAVX512(s *standardization)
