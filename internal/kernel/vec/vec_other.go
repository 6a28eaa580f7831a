//go:build !amd64

package vec

func callReLU(*float32, int)                  {}
func callFunction(Function, *function)        {}
func callReduction(reductionKind, *reduction) {}
func callLimit(*Limits, []float32)            {}
func callCurve(*Curve, []float32)             {}
func callHasNaN([]float32) bool               { return false }
func callGreatest([]float32) float32          { return 0 }
func callFinish(*finishing)                   {}
func callLeave(*leaving)                      {}
func callPlanar(*planarStep)                  {}

type (
	placeGroup struct{}
	placeRoom  struct{}
	eightGroup struct{}
)

func (*Places) group() {}

func (*Places) fast([]float32, int, int, []float32, []int) bool { return false }
