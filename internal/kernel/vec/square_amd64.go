//go:build amd64

package vec

//go:noescape
func squareAVX512(v *float32, n int)
