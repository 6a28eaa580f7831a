//go:build !amd64

package vec

func callFunction(Function, *function)        {}
func callReduction(reductionKind, *reduction) {}

type (
	placeGroup struct{}
	placeRoom  struct{}
)

func (*Places) group() {}

func (*Places) fast([]float32, int, int, []float32, []int) bool { return false }
