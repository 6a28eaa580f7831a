package strided

import "testing"

// BenchmarkPanels prints how fast the inner loops are, each of which has 256
// products of eight or sixteen sums.
func BenchmarkPanels(b *testing.B) {
	a, c, d := make([]quad, depth), make([]quad, depth), make([]quad, depth)
	for k := range a {
		a[k], c[k], d[k] = quad{1, 2, 3, 4}, quad{0.5, 0.25, 1, 2}, quad{1, 2, 1, 2}
	}
	tile := make([]float32, 16)
	for _, bb := range []struct {
		name string
		sums int
		f    func()
	}{
		{"four rows", 16, func() { addBlock(tile, panelLines, a, c, 4) }},
		{"two rows", 8, func() { addBlock(tile, panelLines, a, c, 2) }},
		{"one row", 8, func() { addLine(tile, a, c, d) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				bb.f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*bb.sums*depth), "ns/product")
		})
	}
}
