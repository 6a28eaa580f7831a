package task

import "github.com/espalier-ane/espalier/hwx"

// A Counter counts the weights that tasks read. Tasks share weights, containers weight files, and functions containers: what
// several read counts once.
type Counter struct {
	Parameters int
	seen       map[weightPlace]bool
}

// weightPlace is where an array of weights is: in the container or in the bundle's file of weights.
type weightPlace struct {
	file string
	at   uint64
}

// Add counts the weights of a procedure, and returns how many tasks it has. Of a bundle, container and weights are the paths of
// the container and of its weights.
func (c *Counter) Add(p *hwx.Procedure, container, weights string) (tasks int, err error) {
	e, err := newExplainer(p)
	if err != nil {
		return 0, err
	}
	e.counter, e.container, e.weights = *c, container, weights
	for i, t := range e.tasks {
		e.task(i, t)
	}
	*c = e.counter
	return len(e.tasks), nil
}

// count adds the weights at an offset from a base, unless a task before uses the same.
func (e *explainer) count(base int, offset int64, n int) {
	b := e.bases[base]
	place := weightPlace{e.container, b.Addr + uint64(offset)}
	if b.Section != nil && b.Section.Data == nil {
		place = weightPlace{e.weights, uint64(offset)}
	}
	if c := &e.counter; !c.seen[place] {
		if c.seen == nil {
			c.seen = map[weightPlace]bool{}
		}
		c.seen[place] = true
		c.Parameters += n
	}
}
