package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// How much an operation computes is counted before it begins, so that a few bytes that ask for a year of work are refused
// and not begun. A step is a multiplication, an addition or a move of an element; what an operation does beside
// its main loop does not count.

// foldWork bounds the steps of a constant that is folded.
const foldWork = 1 << 26

// steps counts work, and refuses what is beyond the limit.
func (c *Call) steps(n float64) error {
	if c.charge == nil {
		if n > foldWork {
			return fmt.Errorf("%.3g steps are too many to be folded", n)
		}
		return nil
	}
	return c.charge(n)
}

func (r *run) charge(n float64) error {
	allowed := r.limits.MaxSteps()
	if r.steps+n > float64(allowed) {
		return &limit.Error{Resource: limit.Steps, What: "the operation", Asked: limit.Clamp(n), InUse: limit.Clamp(r.steps), Allowed: allowed}
	}
	r.steps += n
	return nil
}

// work estimates the steps of a call whose arguments and result types are known: of most operations, one for each element
// of arguments and results.
func (c *Call) work() float64 {
	all := 0.0
	for i := range c.outs {
		all += elements(c.outs[i])
	}
	results := all
	for _, args := range c.args {
		for i := range args {
			all += elements(args[i].typ)
		}
	}
	if w := workOf[c.Op.Kind]; w != nil {
		return max(all, w(c, results))
	}
	return all
}

// elements is the number of elements of a type, which may be beyond all integers; 0 if it is not known.
func elements(t mil.Type) float64 {
	tt, ok := t.(*mil.TensorType)
	if !ok || !tt.Shape.Known() {
		return 0
	}
	return countOf(tt.Shape)
}

// countOf is the number of elements of a known shape.
func countOf(s tensor.Shape) float64 {
	n := 1.0
	for _, d := range s {
		n *= float64(d)
	}
	return n
}

// workOf are the operations that compute more than once with an element. Einsum counts by itself, product by product.
var workOf = map[string]func(c *Call, results float64) float64{
	"conv":           convWork,
	"conv_quantized": convWork,
	"conv_transpose": func(c *Call, _ float64) float64 { return countOf(c.Shape("x")) * countOf(c.Shape("weight")[1:]) },
	"linear":         func(c *Call, results float64) float64 { return results * float64(c.Shape("weight")[1]) },
	"matmul":         matmulWork,
	"avg_pool":       poolWork,
	"max_pool":       poolWork,
	"l2_pool":        poolWork,
	"gru":            recurrentWork,
	"lstm":           recurrentWork,
	"rnn":            recurrentWork,
	"local_response_norm": func(c *Call, results float64) float64 {
		return results * float64(min(tensor.Dim(c.Int("size")), c.Shape("x")[1]))
	},
	"scaled_dot_product_attention": func(c *Call, results float64) float64 {
		q, k := c.Shape("query"), c.Shape("key")
		return (countOf(q) + results) * float64(k[len(k)-2])
	},
	"non_maximum_suppression": func(c *Call, _ float64) float64 {
		return countOf(c.Shape("boxes")) / 4 * float64(c.Int("max_boxes"))
	},
}

// convWork counts the taps that can lie over input.
func convWork(c *Call, results float64) float64 {
	x, w := c.Shape("x"), c.Shape("weight")
	return results * float64(w[1]) * min(countOf(w[2:]), countOf(x[2:]))
}

func matmulWork(c *Call, results float64) float64 {
	p, err := c.matrixProduct()
	if err != nil {
		return results
	}
	return results * float64(p.x[len(p.x)-1])
}

func poolWork(c *Call, results float64) float64 {
	slides, err := c.poolSlides()
	if err != nil {
		return results
	}
	for _, s := range slides {
		results *= float64(min(s.kernel, s.in))
	}
	return results
}

func recurrentWork(c *Call, _ float64) float64 {
	x := c.Shape("x")
	return float64(x[0]) * float64(x[1]) * (countOf(c.Shape("weight_ih")) + countOf(c.Shape("weight_hh")))
}
