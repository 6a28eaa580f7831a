package ops

// column copies k elements that lie step apart.
func column(k int, data []float32, step int) []float32 {
	if step == 1 {
		return data[:k]
	}
	out := make([]float32, k)
	for p := range out {
		out[p] = data[p*step]
	}
	return out
}

// gemv adds v·b to c: c[j·step] += Σ v[p]·b(p,j), for a vector of k by k×n, under the law of gemm.
func gemv(h *halt, n, k int, v []float32, b matrix, c []float32, step int) {
	sums := gemvByRows
	if b.row == 1 {
		sums = gemvByColumns
	}
	const chunk = 256
	h.For((n+chunk-1)/chunk, 1+(1<<15)/(k*chunk), func(lo, hi int) {
		var buf [chunk]float32
		for x := lo; x < hi; x++ {
			j := x * chunk
			acc := buf[:min(chunk, n-j)]
			clear(acc)
			sums(acc, v, matrix{b.data[j*b.col:], b.row, b.col})
			for i, s := range acc {
				c[(j+i)*step] += s
			}
		}
	})
}

// gemvByRows computes all sums in step, a row of the matrix at a time, or four where rows lie densely.
func gemvByRows(acc, v []float32, b matrix) {
	p := 0
	for ; b.col == 1 && p+4 <= len(v); p += 4 {
		row := func(i int) []float32 { return b.data[(p+i)*b.row:][:len(acc)] }
		r0, r1, r2, r3 := row(0), row(1), row(2), row(3)
		x0, x1, x2, x3 := v[p], v[p+1], v[p+2], v[p+3]
		for j, sum := range acc {
			sum += float32(x0 * r0[j])
			sum += float32(x1 * r1[j])
			sum += float32(x2 * r2[j])
			acc[j] = sum + float32(x3*r3[j])
		}
	}
	for ; p < len(v); p++ {
		at := p * b.row
		for j := range acc {
			acc[j] += float32(v[p] * b.data[at])
			at += b.col
		}
	}
}

// addScaled adds x·src to acc.
func addScaled(acc []float32, x float32, src []float32) {
	src = src[:len(acc)]
	for j := range acc {
		acc[j] += float32(x * src[j])
	}
}

// gemvByColumns computes four sums at a time, each over a column that lies densely in memory.
func gemvByColumns(acc, v []float32, b matrix) {
	dense := func(j int) []float32 { return b.data[j*b.col:][:len(v)] }
	j := 0
	for ; j+4 <= len(acc); j += 4 {
		b0, b1, b2, b3 := dense(j), dense(j+1), dense(j+2), dense(j+3)
		var s0, s1, s2, s3 float32
		for p, x := range v {
			s0 += float32(x * b0[p])
			s1 += float32(x * b1[p])
			s2 += float32(x * b2[p])
			s3 += float32(x * b3[p])
		}
		acc[j], acc[j+1], acc[j+2], acc[j+3] = s0, s1, s2, s3
	}
	for ; j < len(acc); j++ {
		for p, x := range dense(j) {
			acc[j] += float32(v[p] * x)
		}
	}
}
