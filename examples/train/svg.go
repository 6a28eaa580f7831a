package main

import (
	"bytes"
	"fmt"
	"math"
)

// A curve is the loss of a training.
type curve struct {
	name   string
	losses []float64
}

var colours = []string{"#1b6ca8", "#d1495b", "#2e8b57", "#edae49"}

// draw draws curves, over the steps, by the logarithm of the loss.
func draw(curves []curve) []byte {
	const width, height, left, top, room = 640, 360, 60, 20, 40
	low, high := math.Inf(1), math.Inf(-1)
	scale := func(loss float64) float64 { return math.Log10(max(loss, 1e-6)) } // fp16 may have none left
	for _, c := range curves {
		for _, l := range c.losses {
			low, high = min(low, scale(l)), max(high, scale(l))
		}
	}
	low, high = math.Floor(low), math.Ceil(high)
	y := func(l float64) float64 { return top + (high-l)/(high-low)*height }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", left+width+20, top+height+room)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	for d := low; d <= high; d++ {
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", left, y(d), width, left-6, y(d)+4, math.Pow(10, d))
	}
	for i, c := range curves {
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, colours[i%len(colours)])
		for s, l := range c.losses {
			fmt.Fprintf(&b, "%.1f,%.1f ", left+float64(s)/float64(max(len(c.losses)-1, 1))*width, y(scale(l)))
		}
		fmt.Fprintf(&b, `"/><text x="%d" y="%d" fill="%s">%s</text>`+"\n", left+width-170, top+16+16*i, colours[i%len(colours)], c.name)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">step</text></svg>`+"\n", left+width/2, top+height+room-10)
	return b.Bytes()
}
