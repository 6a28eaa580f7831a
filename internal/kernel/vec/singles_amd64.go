//go:build amd64

package vec

// callSingles is callFunction in fp32.
//
//go:noinline
func callSingles(f Function, p *function) {
	switch f {
	case Exp:
		expSingle(p)
	case Sigmoid:
		sigmoidSingle(p)
	case Swish:
		swishSingle(p)
	case Tanh:
		tanhSingle(p)
	case GELU:
		geluSingle(p)
	case GELUTanh:
		geluTanhSingle(p)
	}
}

//go:noescape
func expSingle(p *function)

//go:noescape
func sigmoidSingle(p *function)

//go:noescape
func swishSingle(p *function)

//go:noescape
func tanhSingle(p *function)

//go:noescape
func geluSingle(p *function)

//go:noescape
func geluTanhSingle(p *function)
