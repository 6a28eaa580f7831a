package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

func validateMatMul(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*MatMul)
	a, b := l.bottom(0), l.bottom(1)
	if a == nil || b == nil || len(l.Bottoms) != 2 {
		return &diag.Finding{
			ID: diag.MatMulInputs, Text: "Matrix mult. layer can only have two bottoms",
			Limit: "2", Found: fmt.Sprint(len(l.Bottoms)), Remedy: "multiply two matrices, and add a bias in a layer of its own", Source: "guide 22",
		}
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	if da, db := a.Type.Dims[D], b.Type.Dims[D]; da > 1 || db > 1 {
		return &diag.Finding{
			ID: diag.MatMulDepth, Text: "depth > 1 is not supported for MatMult",
			Limit: "1", Found: fmt.Sprintf("%d and %d", da, db), Remedy: "reshape to rank 4: fold the second axis into the first", Source: "guide 22 and B",
		}
	}
	if len(l.Tops) > 0 {
		rows := a.Type.Dims[H]
		if p.TransposeX {
			rows = a.Type.Dims[W]
		}
		if out := l.Tops[0].Type.Dims[H]; out != rows { // Apple's unit has the rows along C
			return &diag.Finding{
				ID:     diag.MatMulRows,
				Text:   fmt.Sprintf("Error: invalid output channel = %d. Expecting it to be input A's channel dimension = %d for MatMult", out, rows),
				Limit:  fmt.Sprint(rows),
				Found:  fmt.Sprint(out),
				Remedy: "give the result as many rows as the first matrix",
				Source: "gate: guide 22 and B; text: " + fromStrings,
			}
		}
	}
	inner := a.Type.Dims[W]
	if p.TransposeX {
		inner = a.Type.Dims[H]
	}
	if bytes, ok := a.Type.DType.ByteLen(inner); ok && bytes > t.Limits.KernelMemoryDense {
		return &diag.Finding{
			ID: diag.MatMulKernelMemory, Text: "can not fit the Kmem",
			Limit:  fmt.Sprintf("%d bytes for a row of the first matrix", t.Limits.KernelMemoryDense),
			Found:  fmt.Sprintf("%d bytes", bytes),
			Remedy: "split the inner axis into parts and add their products",
			Source: "guide 22; that it is one row that must fit is inferred",
		}
	}
	return nil
}

func validateLinear(l *Layer, t *hal.Target) *diag.Finding {
	if r := wantInputs(l, 1, diag.Finding{ID: diag.LinearInputs, Text: "Linear layer must have only one single input.", Source: "guide B and 17",
		Remedy: "make weights and bias constants, or write a MatrixMultiplication"}); r != nil {
		return r
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	if d := l.Bottoms[0].Type.Dims[D]; d > 1 {
		return &diag.Finding{
			ID: diag.LinearRank, Text: "ANE cannot support Linear with input rank >= 5",
			Limit: "rank 4", Found: fmt.Sprintf("rank 5, depth %d", d), Remedy: "reshape to rank 4 before, and back after", Source: "guide B and 17",
		}
	}
	return nil
}

func validateSDPA(l *Layer, t *hal.Target) *diag.Finding {
	have := 0
	for _, b := range l.Bottoms {
		if b != nil {
			have++
		}
	}
	if have < 4 || have > 5 || len(l.Bottoms) > 5 {
		return &diag.Finding{
			ID: diag.SDPAInputs, Text: "SDPA layer must have only 4 or 5(optional mask) inputs",
			Limit: "4 or 5", Found: fmt.Sprint(have), Remedy: "give query, key, value, a constant scale and, if any, a mask that is added", Source: "guide B",
		}
	}
	q, k, v, mask := l.Bottoms[0], l.Bottoms[1], l.Bottoms[2], l.bottom(4)
	if q == nil || k == nil || v == nil {
		return &diag.Finding{
			ID: diag.SDPAInputs, Text: "4 or 5 bottoms must be present for SDPA",
			Limit: "query, key, value, scale", Found: fmt.Sprint(have), Remedy: "give query, key and value", Source: "guide 22 and 26",
		}
	}
	switch {
	case max(q.Type.Dims[D], k.Type.Dims[D], v.Type.Dims[D]) > 1:
		return &diag.Finding{
			ID: diag.SDPARank, Text: "SDPA does not currently support rank 5 operands",
			Limit: "rank 4", Found: fmt.Sprintf("depth %d", q.Type.Dims[D]), Remedy: "fold batch and heads into one axis each", Source: fromStrings,
		}
	case k.Type.Dims != v.Type.Dims:
		return &diag.Finding{
			ID: diag.SDPAKeyValue, Text: "Key and value must be the same shape",
			Limit: k.Type.Dims.String(), Found: v.Type.Dims.String(), Remedy: "pad the features of the smaller one with zeros, or write matmul, softmax and matmul", Source: "gate: guide B and 26; text: " + fromStrings,
		}
	case mask != nil:
		return validateMask(q.Type, k.Type, mask.Type)
	}
	return nil
}

// validateMask: Apple's unit has positions along C where this one has them along H.
func validateMask(q, k, mask Type) *diag.Finding {
	r := &diag.Finding{ID: diag.SDPAMask, Source: "gate: guide B; text: " + fromStrings}
	switch {
	case mask.DType != q.DType:
		r.Text, r.Limit, r.Found = "Mask format must be same as Q, K and V", q.DType.String(), mask.DType.String()
		r.Remedy = "give a mask that is added: 0 where attention goes and a large negative number elsewhere"
		r.Source = "guide 22"
	case mask.Dims[H] != q.Dims[H] && mask.Dims[H] != 1:
		r.Text, r.Limit, r.Found = "Mask Channel axis must match Q Channel axis or broadcastable", fmt.Sprintf("%d or 1", q.Dims[H]), fmt.Sprint(mask.Dims[H])
		r.Remedy = "give the mask a row for each position of the query, or one for all"
	case mask.Dims[W] != k.Dims[H]:
		r.Text, r.Limit, r.Found = "Mask Width axis must match K and V Channel axis", fmt.Sprint(k.Dims[H]), fmt.Sprint(mask.Dims[W])
		r.Remedy = "give the mask a column for each position of the key"
	default:
		return nil
	}
	return r
}
