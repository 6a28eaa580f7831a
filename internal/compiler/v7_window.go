package compiler

import "github.com/espalier-ane/espalier/internal/anec"

// A v7window is the window of a convolution.
type v7window struct{ kw, kh, sx, sy, px, py int }

var onePoint = v7window{kw: 1, kh: 1, sx: 1, sy: 1}

// planeWindow is a window of a plane.
func planeWindow(w *anec.Window) v7window {
	return v7window{kw: w.Kernel[2], kh: w.Kernel[1], sx: w.Stride[2], sy: w.Stride[1], px: w.PadBefore[2], py: w.PadBefore[1]}
}

// inPlane reports whether a window has no depth.
func inPlane(w *anec.Window) bool {
	return w.Kernel[0] == 1 && w.Stride[0] == 1 && w.PadBefore[0] == 0 && w.PadAfter[0] == 0
}

// meets reports whether every window has an element of the image.
func (w *v7window) meets(in, out v7size) bool {
	return w.px < w.kw && w.py < w.kh && (out.w-1)*w.sx-w.px < in.w && (out.h-1)*w.sy-w.py < in.h
}
