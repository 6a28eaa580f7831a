package vec

// Taps sets each element of dst to the sum of weights[t]·src[i+shifts[t]]: a row of
// a convolution of one channel. The products are added up in the order of the
// taps, each product and each sum rounded: machine code gives the same bits.
func Taps(dst, src, weights []float32, shifts []int) {
	if len(dst) == 0 {
		return
	}
	if fastTaps != nil && len(weights) > 0 {
		fastTaps(dst, src, weights, shifts)
		return
	}
	const atOnce = 8
	for at := 0; at < len(dst); at += atOnce {
		n := min(atOnce, len(dst)-at)
		var s [atOnce]float32
		for t, v := range weights {
			x := src[at+shifts[t]:]
			if n < atOnce {
				for j := range n {
					s[j] += float32(v * x[j])
				}
				continue
			}
			x8 := (*[atOnce]float32)(x)
			s[0] += float32(v * x8[0])
			s[1] += float32(v * x8[1])
			s[2] += float32(v * x8[2])
			s[3] += float32(v * x8[3])
			s[4] += float32(v * x8[4])
			s[5] += float32(v * x8[5])
			s[6] += float32(v * x8[6])
			s[7] += float32(v * x8[7])
		}
		copy(dst[at:], s[:n])
	}
}

// fastTaps is Taps by machine code; nil: there is none.
var fastTaps func(dst, src, weights []float32, shifts []int)
