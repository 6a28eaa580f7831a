//go:build !amd64

package half

func transposeEight([]byte, int, []byte, int, int) {}
func flushFast(_, _ []byte) int                    { return 0 }
func flushesFast([]byte) (int, bool)               { return 0, false }
func readFast([]float32, []byte, bool) int         { return 0 }

// transposes: there is no machine code.
const transposes = false
