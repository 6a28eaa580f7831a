package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
)

// planeWindow is a window of a plane.
func planeWindow(w *anec.Window) units.Window {
	return units.Window{KW: w.Kernel[2], KH: w.Kernel[1], SX: w.Stride[2], SY: w.Stride[1], PX: w.PadBefore[2], PY: w.PadBefore[1]}
}

// inPlane reports whether a window has no depth.
func inPlane(w *anec.Window) bool {
	return w.Kernel[0] == 1 && w.Stride[0] == 1 && w.PadBefore[0] == 0 && w.PadAfter[0] == 0
}
