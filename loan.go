package espalier

import (
	"slices"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// A loan is memory that an operation has for one prediction: large inputs are read where the caller has them, and large outputs
// are written where the caller gets them.
type loan struct {
	operation *e5rt.Operation
	ports     []string
	made      []string // of them, those that have an array of their own
}

// worthLending is from how many bytes on a copy takes longer than binding a port twice.
const worthLending = 1 << 16

// lend binds a port to an array, and reports whether it could.
func (l *loan) lend(p *e5rt.Port, t *tensor.Tensor) bool {
	if p.Bytes < worthLending || l.operation.Bind(p.Name, t) != nil {
		return false
	}
	l.ports = append(l.ports, p.Name)
	return true
}

// lendNew binds an output to an array of its own.
func (l *loan) lendNew(p *e5rt.Port) {
	if p.Type != tensor.Invalid && p.Bytes >= worthLending && l.lend(p, tensor.New(p.Type, p.Shape...)) {
		l.made = append(l.made, p.Name)
	}
}

// isOwn reports whether an output has an array of its own.
func (l *loan) isOwn(port string) bool { return slices.Contains(l.made, port) }

// end gives the ports back their own memory.
func (l *loan) end() {
	for _, name := range l.ports {
		if p, err := l.operation.Port(name); err == nil {
			p.Unbind() // nobody else has the operation
		}
	}
}
