package strided

// Products of matrices work on panels: four lines of factors, laid out such that
// the factors number k of the four lie side by side. A line is a row of the left
// matrix or a column of the right one.
//
//	lines      panel
//	0 1 2 …    0 a p x
//	a b c …    1 b q y
//	p q r …    2 c r z
//	x y z …    …

const panelLines = 4

// A quad is the factors number k of four lines.
type quad [panelLines]float32

// panelsOf is the number of panels of so many lines. Lines that the last panel
// has too many are 0.
func panelsOf(lines int) int { return (lines + panelLines - 1) / panelLines }

// roundUp is what lines come to in whole panels.
func roundUp(lines int) int { return panelsOf(lines) * panelLines }

// The functions below add up products in the order of k, each sum starting at 0,
// and add the sums to the tile. The conversions keep a product from being fused
// with the sum, which would round otherwise on other machines. Eight sums at a
// time, and two steps of k, are what the registers hold and the adders keep up
// with.

// addBlock adds the products of a panel of rows and a panel of columns to the
// tile, whose rows are a stride apart.
func addBlock(tile []float32, stride int, a, b []quad, rows int) {
	addUpper(tile, stride, a, b)
	if rows > panelLines/2 {
		addLower(tile[2*stride:], stride, a, b)
	}
}

// addUpper is the first two rows of addBlock.
func addUpper(tile []float32, stride int, a, b []quad) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	b = b[:len(a)]
	k := 1
	for ; k < len(a); k += 2 {
		x, y := &a[k-1], &b[k-1]
		s00 += float32(x[0] * y[0])
		s01 += float32(x[0] * y[1])
		s02 += float32(x[0] * y[2])
		s03 += float32(x[0] * y[3])
		s10 += float32(x[1] * y[0])
		s11 += float32(x[1] * y[1])
		s12 += float32(x[1] * y[2])
		s13 += float32(x[1] * y[3])
		x, y = &a[k], &b[k]
		s00 += float32(x[0] * y[0])
		s01 += float32(x[0] * y[1])
		s02 += float32(x[0] * y[2])
		s03 += float32(x[0] * y[3])
		s10 += float32(x[1] * y[0])
		s11 += float32(x[1] * y[1])
		s12 += float32(x[1] * y[2])
		s13 += float32(x[1] * y[3])
	}
	if k == len(a) {
		x, y := &a[k-1], &b[k-1]
		s00 += float32(x[0] * y[0])
		s01 += float32(x[0] * y[1])
		s02 += float32(x[0] * y[2])
		s03 += float32(x[0] * y[3])
		s10 += float32(x[1] * y[0])
		s11 += float32(x[1] * y[1])
		s12 += float32(x[1] * y[2])
		s13 += float32(x[1] * y[3])
	}
	addTo(tile, s00, s01, s02, s03)
	addTo(tile[stride:], s10, s11, s12, s13)
}

// addLower is the last two rows of addBlock. It is addUpper but for two indices,
// which are constants so that nobody has to check them.
func addLower(tile []float32, stride int, a, b []quad) {
	var s20, s21, s22, s23, s30, s31, s32, s33 float32
	b = b[:len(a)]
	k := 1
	for ; k < len(a); k += 2 {
		x, y := &a[k-1], &b[k-1]
		s20 += float32(x[2] * y[0])
		s21 += float32(x[2] * y[1])
		s22 += float32(x[2] * y[2])
		s23 += float32(x[2] * y[3])
		s30 += float32(x[3] * y[0])
		s31 += float32(x[3] * y[1])
		s32 += float32(x[3] * y[2])
		s33 += float32(x[3] * y[3])
		x, y = &a[k], &b[k]
		s20 += float32(x[2] * y[0])
		s21 += float32(x[2] * y[1])
		s22 += float32(x[2] * y[2])
		s23 += float32(x[2] * y[3])
		s30 += float32(x[3] * y[0])
		s31 += float32(x[3] * y[1])
		s32 += float32(x[3] * y[2])
		s33 += float32(x[3] * y[3])
	}
	if k == len(a) {
		x, y := &a[k-1], &b[k-1]
		s20 += float32(x[2] * y[0])
		s21 += float32(x[2] * y[1])
		s22 += float32(x[2] * y[2])
		s23 += float32(x[2] * y[3])
		s30 += float32(x[3] * y[0])
		s31 += float32(x[3] * y[1])
		s32 += float32(x[3] * y[2])
		s33 += float32(x[3] * y[3])
	}
	addTo(tile, s20, s21, s22, s23)
	addTo(tile[stride:], s30, s31, s32, s33)
}

// addLine adds the products of one row and two panels of columns, for a tile of
// one row.
func addLine(tile []float32, a, b, c []quad) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	b, c = b[:len(a)], c[:len(a)]
	k := 1
	for ; k < len(a); k += 2 {
		x, y, z := a[k-1][0], &b[k-1], &c[k-1]
		s0 += float32(x * y[0])
		s1 += float32(x * y[1])
		s2 += float32(x * y[2])
		s3 += float32(x * y[3])
		s4 += float32(x * z[0])
		s5 += float32(x * z[1])
		s6 += float32(x * z[2])
		s7 += float32(x * z[3])
		x, y, z = a[k][0], &b[k], &c[k]
		s0 += float32(x * y[0])
		s1 += float32(x * y[1])
		s2 += float32(x * y[2])
		s3 += float32(x * y[3])
		s4 += float32(x * z[0])
		s5 += float32(x * z[1])
		s6 += float32(x * z[2])
		s7 += float32(x * z[3])
	}
	if k == len(a) {
		x, y, z := a[k-1][0], &b[k-1], &c[k-1]
		s0 += float32(x * y[0])
		s1 += float32(x * y[1])
		s2 += float32(x * y[2])
		s3 += float32(x * y[3])
		s4 += float32(x * z[0])
		s5 += float32(x * z[1])
		s6 += float32(x * z[2])
		s7 += float32(x * z[3])
	}
	addTo(tile, s0, s1, s2, s3)
	addTo(tile[panelLines:], s4, s5, s6, s7)
}

func addTo(tile []float32, s0, s1, s2, s3 float32) {
	t := (*quad)(tile)
	t[0] += s0
	t[1] += s1
	t[2] += s2
	t[3] += s3
}

// interleave makes a panel of four lines of factors.
func interleave(panel []quad, l0, l1, l2, l3 []float32) {
	l0, l1, l2, l3 = l0[:len(panel)], l1[:len(panel)], l2[:len(panel)], l3[:len(panel)]
	for k := range panel {
		panel[k] = quad{l0[k], l1[k], l2[k], l3[k]}
	}
}

// scatter puts the factors number k of many lines, of whole panels, into quad k
// of each panel.
func scatter(panels []quad, pitch, k int, factors []float32) {
	for ; len(factors) >= panelLines; factors = factors[panelLines:] {
		panels[k] = quad(factors)
		k += pitch
	}
}
