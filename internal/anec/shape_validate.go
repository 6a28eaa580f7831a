package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// validateShape: a unit gives extents along the axes that a tensor has, each
// once. (On the conversion route there is no shape operation: extents are known.)
func validateShape(l *Layer, _ *hal.Target) *diag.Finding {
	if n := len(l.Params.(*Shape).Axes); n > NumAxes {
		return &diag.Finding{
			ID: diag.ShapeAxes, Text: fmt.Sprintf("Shape of %d dimensions exceeds the max rank %d", n, NumAxes),
			Limit: fmt.Sprint(NumAxes), Found: fmt.Sprint(n), Remedy: "ask for each axis once", Source: "guide 4: maximum rank 5; text: ours",
		}
	}
	return nil
}
