//go:build amd64

package vec

//go:noescape
func addAVX2(dst, a, b *float32, n int)

//go:noescape
func subAVX2(dst, a, b *float32, n int)

//go:noescape
func mulAVX2(dst, a, b *float32, n int)

//go:noescape
func divAVX2(dst, a, b *float32, n int)

//go:noescape
func maxAVX2(dst, a, b *float32, n int)

//go:noescape
func minAVX2(dst, a, b *float32, n int)

//go:noescape
func plusAVX2(v *float32, s float32, n int)

//go:noescape
func reluAVX2(v *float32, n int)

//go:noescape
func clampAVX2(v *float32, lo, hi, zero float32, n int)

//go:noescape
func limitAVX2(l *Limits, v *float32, n int)

//go:noescape
func curveLinesAVX2(c *Curve, v *float32, n int)

//go:noescape
func curvePowersAVX2(c *Curve, v *float32, n int)

//go:noescape
func hasNaNAVX2(v *float32, n int) bool

//go:noescape
func greatestAVX2(v *float32, n int) float32

//go:noescape
func expAVX2(p *function)

//go:noescape
func sigmoidAVX2(p *function)

//go:noescape
func swishAVX2(p *function)

//go:noescape
func tanhAVX2(p *function)

//go:noescape
func geluAVX2(p *function)

//go:noescape
func geluTanhAVX2(p *function)

//go:noescape
func sumAVX2(r *reduction)

//go:noescape
func squaresAVX2(r *reduction)

//go:noescape
func normalizeAVX2(r *reduction)

//go:noescape
func powersAVX2(r *reduction)

//go:noescape
func maxOfAVX2(r *reduction)

//go:noescape
func scaleAVX2(r *reduction)

//go:noescape
func squareAVX2(v *float32, n int)

//go:noescape
func standardizeAVX2(s *standardization)
