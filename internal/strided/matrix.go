package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/tensor"
)

// A matrix is an operand of which two axes are a matrix: the lines along one of
// them, the factors of a line along the other. Neither is the one of interleaved
// channels.
type matrix struct {
	array
	line, inner int
}

// byLine: what lies side by side is read together.
func (m *matrix) byLine() bool {
	apart, step := m.strides[m.line], m.strides[m.inner]
	return max(apart, -apart) >= max(step, -step)
}

// place is where factor k of the first of lines lies.
func (m *matrix) place(l *lines, k int) int {
	at := l.at
	at[m.line] += l.first
	at[m.inner] += k
	return m.at(&at)
}

func (m *matrix) load(w *Scratch, dst []float32, pitch int, l *lines, k, d int) {
	src, off := m.memory(w), m.place(l, k)
	count, apart, length, step := d, m.strides[m.inner], l.count, m.strides[m.line]
	if m.byLine() {
		count, apart, length, step = l.count, m.strides[m.line], d, m.strides[m.inner]
	}
	for j := range count {
		m.read(dst[j*pitch:][:length], src, off+j*apart, step)
	}
}

// elem: fp16 numbers as they are.
func (m *matrix) elem() (gemm.Elem, bool) {
	apart, step := m.strides[m.line], m.strides[m.inner]
	return gemm.F16, m.typ == tensor.Float16 && m.pass == 0 && apart >= 0 && step >= 0 && apart%2 == 0 && step%2 == 0
}

func (*matrix) prepare(_ *Scratch, _ *lines, _, d int, _ bool) int { return d }

func (m *matrix) source(w *Scratch, l *lines, k, d int) gemm.Source {
	return gemm.Source{
		Elem: gemm.F16, Bytes: m.memory(w)[m.place(l, k):], Line: m.strides[m.line] / 2, Step: m.strides[m.inner] / 2,
		Lines: l.count, Depth: d,
	}
}
