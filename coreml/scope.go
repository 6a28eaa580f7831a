package coreml

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
)

// scope is the values that the operations of a block may use: its own and those of the blocks around it. A
// name is defined once in a block; a nested block may define it again, which hides the outer value.
type scope struct {
	outer    *scope
	values   map[string]*mil.Value
	upcoming []message // the operation being decoded and those after it, to explain what is missing
}

func newScope(outer *scope) *scope {
	return &scope{outer: outer, values: map[string]*mil.Value{}}
}

// define adds a value. The offset is that of what defines it.
func (s *scope) define(v *mil.Value, offset int64) error {
	if before, ok := s.values[v.Name]; ok {
		by := "an input"
		if before.Def != nil {
			by = describe(before.Def) + " at " + before.Def.Pos.String()
		}
		what := "the input"
		if v.Def != nil {
			what = describe(v.Def)
		}
		return damage(offset, "%s defines value %q, which is already defined by %s", what, v.Name, by)
	}
	s.values[v.Name] = v
	return nil
}

// lookup finds a value by name; nil if it is not in scope.
func (s *scope) lookup(name string) *mil.Value {
	for ; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v
		}
	}
	return nil
}

// whyMissing says why lookup does not find a name: nothing defines it, or an operation that comes later.
func (s *scope) whyMissing(name string) string {
	for ; s != nil; s = s.outer {
		for _, raw := range s.upcoming {
			if defines(raw, name) {
				return fmt.Sprintf("which is defined only by the operation at byte 0x%x: operations form a cycle or are out of order", raw.at)
			}
		}
	}
	return "which is not defined"
}

// defines reports whether an Operation has an output of the name. Damage is for the decoder to report.
func defines(op message, name string) bool {
	f := op.fields()
	for f.next() {
		if f.num != 3 {
			continue
		}
		g := f.message("outputs").fields()
		for g.next() {
			if g.num == 1 && string(g.data) == name {
				return true
			}
		}
	}
	return false
}
