//go:build !amd64

package vec

func callFunction(Function, *function)        {}
func callReduction(reductionKind, *reduction) {}
