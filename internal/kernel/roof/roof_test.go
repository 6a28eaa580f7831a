package roof

import (
	"testing"
	"time"
)

// There is a peak, from a loop with a name, and memory is read; how fast is the machine's business.
func TestRoofsAreFound(t *testing.T) {
	if rate, by := Peak(2, 2*time.Millisecond); rate <= 0 || by == "" {
		t.Errorf("peak %v by %q", rate, by)
	}
	for _, bytes := range []int{4, 1000, 1 << 20} { // less than a vector, odd, many
		if rate := Reads(2, bytes, time.Millisecond); rate <= 0 {
			t.Errorf("%d bytes: %v bytes a second", bytes, rate)
		}
	}
}

func BenchmarkPeak(b *testing.B) {
	for b.Loop() {
		rate, _ := Peak(1, 100*time.Millisecond)
		b.ReportMetric(rate/1e9, "GFLOP/s")
	}
}

func BenchmarkReads(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(Reads(1, 1<<19, 50*time.Millisecond)/1e9, "L2-GB/s")
		b.ReportMetric(Reads(1, 1<<29, 200*time.Millisecond)/1e9, "memory-GB/s")
	}
}
