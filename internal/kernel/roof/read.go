package roof

import "runtime"

// readGo reads all floats.
func readGo(b []float32) {
	var s0, s1, s2, s3 float32
	for len(b) >= 4 {
		s0 += b[0]
		s1 += b[1]
		s2 += b[2]
		s3 += b[3]
		b = b[4:]
	}
	for _, v := range b {
		s0 += v
	}
	runtime.KeepAlive(s0 + s1 + s2 + s3) // so that reading is not left out
}
