//go:build !amd64 && !arm64

package half

func floatsFast(dst []float32, src []byte) int { return 0 }
func putFast(dst []byte, src []float32) int    { return 0 }
func roundFast(v []float32) int                { return 0 }
func awayFast(v []float32) int                 { return 0 }

func (*Rows) fast() bool { return false }

func narrowFast([]byte, []byte) int { return 0 }
