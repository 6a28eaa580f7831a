//go:build amd64

package vec

// callSingles is callFunction in fp32.
//
//go:noinline
func callSingles(f Function, p *function) {
	if !wide {
		eightSingles(f, p)
		return
	}
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

func eightSingles(f Function, p *function) {
	switch f {
	case Exp:
		expEight(p)
	case Sigmoid:
		sigmoidEight(p)
	case Swish:
		swishEight(p)
	case Tanh:
		tanhEight(p)
	case GELU:
		geluEight(p)
	case GELUTanh:
		geluTanhEight(p)
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

//go:noescape
func expEight(p *function)

//go:noescape
func sigmoidEight(p *function)

//go:noescape
func swishEight(p *function)

//go:noescape
func tanhEight(p *function)

//go:noescape
func geluEight(p *function)

//go:noescape
func geluTanhEight(p *function)
