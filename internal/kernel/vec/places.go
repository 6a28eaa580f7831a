package vec

// Places reads elements at places, again for each shift: row k of dst, which are a
// pitch apart, has the elements src[places[l]+shifts[k]], and 0 up to its width.
func Places(dst []float32, pitch, width int, src []float32, places []int64, shifts []int) {
	if len(places) == 0 || len(shifts) == 0 {
		for k := range shifts {
			clear(dst[k*pitch:][:width])
		}
		return
	}
	if fastPlaces != nil {
		fastPlaces(dst, pitch, width, src, places, shifts)
		return
	}
	for k, shift := range shifts {
		to, from := dst[k*pitch:][:width], src[shift:]
		for l, p := range places {
			to[l] = from[p]
		}
		clear(to[len(places):])
	}
}

// fastPlaces is Places by machine code; nil: there is none.
var fastPlaces func(dst []float32, pitch, width int, src []float32, places []int64, shifts []int)
