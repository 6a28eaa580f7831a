package ops

import (
	"slices"
	"strings"
)

// families are the tables that make up the catalogue. An operation is added by a row in its family's file.
var families = [][]Def{
	controlFlowOps,
	activationOps,
	unaryOps,
	castOps,
	binaryOps,
	comparisonOps,
	logicalOps,
	reductionOps,
	normalizationOps,
	selectOps,
	constexprOps,
	quantizeOps,
	recurrentOps,
	reshapeOps,
	sliceOps,
	joinOps,
	generateOps,
	padOps,
	sortOps,
	spaceBlockOps,
	reverseOps,
	scanOps,
	gatherOps,
	scatterOps,
	resizeOps,
	resampleOps,
	cropOps,
	listOps,
	stateOps,
	randomOps,
	classifyOps,
	matmulOps,
	einsumOps,
	attentionOps,
	convOps,
	poolOps,
	nmsOps,
}

var byName, sorted = index(families)

func index(families [][]Def) (map[string]*Def, []*Def) {
	m := map[string]*Def{}
	var all []*Def
	for _, f := range families {
		for i := range f {
			d := &f[i]
			if m[d.Name] != nil {
				panic("bug: operation " + d.Name + " is in the catalogue twice")
			}
			m[d.Name] = d
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
	return m, all
}
