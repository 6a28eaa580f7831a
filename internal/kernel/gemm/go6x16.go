package gemm

// go6x16 multiplies six lines with sixteen, in the shape of what vectors do: a
// factor of A with eight of B at a time. It is not faster than go4x4; it is here
// so that nothing takes the shape of that for granted.
var go6x16 = Row{
	Name: "go6x16", A: floatPanel(6), B: floatPanel(16), Depth: 128, Exact: true, Terms: 128, Masked: true, Run: run6x16,
	Doc: "plain Go; one row at a time, edges by a mask",
}

func run6x16(t *Tile) {
	for c := 0; c < t.Cols; c += 8 {
		b := t.B[c/16*t.DistB+c%16:][:16*(t.Depth-1)+8]
		n := min(8, t.Cols-c)
		for r := range t.Rows {
			a := t.A[r/6*t.DistA+r%6:][:6*(t.Depth-1)+1]
			addEight(t.C[r*t.Stride+c:][:n], a, b)
		}
	}
}

// addEight adds the products of one line of a and eight lines of b to as many
// columns as there are.
func addEight(c, a, b []float32) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for {
		x, y := a[0], (*[8]float32)(b)
		s0 += float32(x * y[0])
		s1 += float32(x * y[1])
		s2 += float32(x * y[2])
		s3 += float32(x * y[3])
		s4 += float32(x * y[4])
		s5 += float32(x * y[5])
		s6 += float32(x * y[6])
		s7 += float32(x * y[7])
		if len(a) < 6 {
			break
		}
		a, b = a[6:], b[16:]
	}
	sums := [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
	for j := range c {
		c[j] += sums[j]
	}
}
