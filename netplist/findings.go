package netplist

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/internal/diag"
)

// unknown warns of a key that nothing reads, or of one of ours.
func (l *lowering) unknown(key string) {
	if idle[key] {
		return
	}
	place := diag.Place{Function: l.procedure()}
	where := ""
	if l.unit != nil {
		place.Layer, where = l.unit.Name, fmt.Sprintf("unit %q, ", l.unit.Name)
	}
	f := diag.Finding{ID: diag.NetplistKey, Text: where + "key " + key + ": nothing reads it"}
	if isOurs(key[strings.LastIndexByte(key, '.')+1:]) {
		f = diag.Finding{ID: diag.NetplistOurs, Text: where + "key " + key + ": Apple's compiler does not know it"}
	}
	l.findings = append(l.findings, *f.At(0, place))
}

func (l *lowering) procedure() string {
	if l.graph == nil {
		return ""
	}
	return l.graph.Name
}

// strange warns of the keys that are left of a dictionary.
func (l *lowering) strange(symbol string, left Dict) {
	l.unit = nil
	if symbol != "" {
		l.unit = &Unit{Name: symbol}
	}
	for _, key := range left.keys() {
		l.unknown(key)
	}
	l.unit = nil
}
