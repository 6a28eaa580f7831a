package fit

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The picture: two frames, one below the other.
const (
	width      = 720
	left       = 70 // of a frame
	frameWidth = width - left - 20
	curveTop   = 40
	curveRoom  = 260
	errorTop   = curveTop + curveRoom + 60
	errorRoom  = 120
	height     = errorTop + errorRoom + 40
	points     = 640 // of a curve
)

// SVGHead is how pictures of this package begin.
const SVGHead = "<!-- espalier fit -->"

// A frame maps numbers to the picture.
type frame struct {
	x, y      Domain // what it shows
	top, room float64
}

func (f *frame) at(x, y float64) (h, v float64) {
	return left + frameWidth*(x-f.x.Min)/(f.x.Max-f.x.Min), f.top + f.room*(f.y.Max-y)/(f.y.Max-f.y.Min)
}

// SVG draws the function, the fit with its knots, and below them the error of the
// fit as the engine computes it. The picture needs nothing beside it.
func (r *Result) SVG(w io.Writer) error {
	out := bufio.NewWriter(w)
	xs := make([]float64, points+1)
	function, fitted, difference := make([]float64, len(xs)), make([]float64, len(xs)), make([]float64, len(xs))
	for i := range xs {
		xs[i] = r.Domain.Min + (r.Domain.Max-r.Domain.Min)*float64(i)/points
		x := min(max(rounded(xs[i]), r.Domain.Min), r.Domain.Max) // what the engine gets
		function[i], fitted[i] = r.function(xs[i]), r.At(x)
		difference[i] = fitted[i] - r.function(x)
	}
	curves := frame{r.Domain, span(function, fitted), curveTop, curveRoom}
	errors := frame{r.Domain, span(difference, []float64{0}), errorTop, errorRoom}

	fmt.Fprintln(out, SVGHead)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	curves.draw(out, "function (grey), fit and its knots (blue)")
	curves.line(out, xs, function, "#999999", 4)
	curves.line(out, xs, fitted, "#1f5fbf", 1.5)
	for i := r.First; i <= r.Last; i++ {
		if x := r.X(i); x >= r.Domain.Min && x <= r.Domain.Max {
			h, v := curves.at(x, r.line(x))
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="#1f5fbf"/>`+"\n", h, v)
		}
	}
	errors.draw(out, fmt.Sprintf("error: at most %.3g, at %.4g; rms %.3g", r.Rounded.Max, r.Rounded.At, r.Rounded.RMS))
	errors.line(out, xs, difference, "#bf3f1f", 1.5)
	fmt.Fprintln(out, `</svg>`)
	return out.Flush()
}

// span is the range of values, with some room around.
func span(lists ...[]float64) Domain {
	d := Domain{math.Inf(1), math.Inf(-1)}
	for _, list := range lists {
		for _, v := range list {
			d.Min, d.Max = min(d.Min, v), max(d.Max, v)
		}
	}
	room := (d.Max - d.Min) / 20
	if room == 0 {
		room = max(math.Abs(d.Max)/20, 1e-6)
	}
	return Domain{d.Min - room, d.Max + room}
}

// draw draws the frame, numbers along two of its sides, and a title.
func (f *frame) draw(w io.Writer, title string) {
	fmt.Fprintf(w, `<text x="%d" y="%.1f" fill="#222222">%s</text>`+"\n", left, f.top-10, title)
	const ticks = 4
	for i := range ticks + 1 {
		part := float64(i) / ticks
		x, y := f.x.Min+(f.x.Max-f.x.Min)*part, f.y.Min+(f.y.Max-f.y.Min)*part
		h, v := f.at(x, y)
		fmt.Fprintf(w, `<path d="M%.1f %.1fV%.1fM%d %.1fH%d" stroke="#dddddd"/>`+"\n", h, f.top, f.top+f.room, left, v, left+frameWidth)
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#222222">%s</text>`+"\n", h, f.top+f.room+16, label(x))
		fmt.Fprintf(w, `<text x="%d" y="%.1f" text-anchor="end" fill="#222222">%s</text>`+"\n", left-6, v+4, label(y))
	}
}

func label(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

func (f *frame) line(w io.Writer, xs, ys []float64, colour string, thick float64) {
	var path strings.Builder
	for i, x := range xs {
		h, v := f.at(x, ys[i])
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], h, v)
	}
	fmt.Fprintf(w, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"/>`+"\n", path.String(), colour, thick)
}
