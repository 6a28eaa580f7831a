package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// planeWindow is a window of a plane.
func planeWindow(w *anec.Window) units.Window {
	return units.Window{KW: w.Kernel[2], KH: w.Kernel[1], SX: w.Stride[2], SY: w.Stride[1], PX: w.PadBefore[2], PY: w.PadBefore[1]}
}

// inPlane declines a window with depth.
func inPlane(w *anec.Window) *diag.Reason {
	switch pad := max(w.PadBefore[0], w.PadAfter[0]); {
	case w.Kernel[0] != 1:
		return diag.Decline(diag.NativeDepth, "the window has depth").In("Kernel3D").Measure(1, w.Kernel[0])
	case w.Stride[0] != 1:
		return diag.Decline(diag.NativeDepth, "the window has a stride along D").In("Kernel3D").Measure(1, w.Stride[0])
	case pad != 0 || w.PadBefore[0] != w.PadAfter[0]:
		return diag.Decline(diag.NativeDepth, "the window has padding along D").Measure(0, pad)
	}
	return nil
}

// zerosBeside declines padding with anything but zeros.
func zerosBeside(w *anec.Window, mode td.PaddingMode) *diag.Reason {
	if mode != td.PadZero && segment.HasPadding(w) {
		return diag.Decline(diag.NativeWindow, "what lies beside the image is not zero").In("PadMode").Measure(td.PadZero, mode)
	}
	return nil
}
