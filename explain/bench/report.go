package bench

import (
	"fmt"
	"image"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/tensor"
)

// reportName tells a report from other JSON.
const reportName = "espalier bench"

// A Report is what Measure found. docs/json.md explains the fields. What was not measured is nil.
type Report struct {
	Report      string  `json:"report"`
	Model       string  `json:"model"`
	Function    string  `json:"function"`
	Features    string  `json:"features"`
	Inputs      string  `json:"inputs"`
	Target      string  `json:"target"`
	Numerics    string  `json:"numerics"`
	Machine     Machine `json:"machine"`
	Interrupted bool    `json:"interrupted,omitempty"`

	RandomWeights []string `json:"random_weights,omitempty"`

	First     *First       `json:"first,omitempty"`
	Latency   *Latency     `json:"latency,omitempty"`
	Budget    *Budget      `json:"budget,omitempty"`
	Streams   []Throughput `json:"streams,omitempty"`
	Batches   []Throughput `json:"batches,omitempty"`
	BatchNote string       `json:"batch_note,omitempty"`
	Memory    *Memory      `json:"memory,omitempty"`
	Roofline  *Roofline    `json:"roofline,omitempty"`
	Profile   *Profile     `json:"profile,omitempty"`
	Compared  *Comparison  `json:"compared,omitempty"`
}

// A Machine is where a report was made.
type Machine struct {
	Platform   string `json:"platform"`
	ISA        string `json:"isa"`
	Processors int    `json:"processors"`
	Threads    int    `json:"threads"`
}

// First is the way to the first result.
type First struct {
	OpenMS    float64 `json:"open_ms"`
	CompileMS float64 `json:"compile_ms"`
	FetchMS   float64 `json:"fetch_ms,omitempty"` // of what was compiled before, and is in the cache
	LoadMS    float64 `json:"load_ms"`
	RunMS     float64 `json:"run_ms"`
	TotalMS   float64 `json:"total_ms"`
}

// Latency is how long predictions took, one after the other.
type Latency struct {
	Runs     int     `json:"runs"`
	MeanMS   float64 `json:"mean_ms"`
	MinMS    float64 `json:"min_ms"`
	MedianMS float64 `json:"p50_ms"`
	P90MS    float64 `json:"p90_ms"`
	P99MS    float64 `json:"p99_ms"`
	MaxMS    float64 `json:"max_ms"`
}

func newLatency(times []time.Duration) *Latency {
	sorted := slices.Sorted(slices.Values(times))
	sum := time.Duration(0)
	for _, t := range sorted {
		sum += t
	}
	at := func(share float64) float64 {
		return milliseconds(sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)])
	}
	return &Latency{
		Runs: len(sorted), MeanMS: milliseconds(sum / time.Duration(len(sorted))),
		MinMS: at(0), MedianMS: at(0.5), P90MS: at(0.9), P99MS: at(0.99), MaxMS: at(1),
	}
}

// Throughput is how many examples a second several streams of predictions come to, or one with several examples at once.
type Throughput struct {
	Streams   int     `json:"streams"`
	Batch     int     `json:"batch"`
	Runs      int     `json:"runs"`
	PerSecond float64 `json:"per_second"`
	MedianMS  float64 `json:"p50_ms"`
}

// Memory is in bytes; 0 where the system does not say.
type Memory struct {
	Resident  int64 `json:"resident_bytes"`
	Anonymous int64 `json:"anonymous_bytes"`
	Weights   int64 `json:"weights_bytes"`
	Packed    int64 `json:"packed_bytes"`
	Scratch   int64 `json:"scratch_bytes"`
}

func (m *Memory) add(of *e5rt.Memory) {
	m.Weights += of.Weights
	m.Packed += of.Packed
	m.Scratch += of.Scratch
}

// featuresText is what a function takes and gives, to tell models apart.
func featuresText(f *espalier.Function) string {
	list := func(features []coreml.Feature) string {
		var texts []string
		for _, d := range features {
			texts = append(texts, fmt.Sprintf("%s %v", d.Name, d.Type))
		}
		return strings.Join(texts, ", ")
	}
	return list(f.Inputs()) + " → " + list(f.Outputs())
}

// inputsText is what the function was given. Where it takes several shapes, these were measured.
func inputsText(f *espalier.Function, inputs map[string]any) string {
	var texts []string
	for _, d := range f.Inputs() {
		switch v := inputs[d.Name].(type) {
		case nil:
		case *tensor.Tensor:
			texts = append(texts, fmt.Sprintf("%s %v", d.Name, v))
		case image.Image:
			texts = append(texts, fmt.Sprintf("%s a picture of %d × %d", d.Name, v.Bounds().Dx(), v.Bounds().Dy()))
		default:
			texts = append(texts, d.Name)
		}
	}
	return strings.Join(texts, ", ")
}

// WriteJSON writes the report in the form that docs/json.md describes, and that ReadJSON reads.
func (r *Report) WriteJSON(w io.Writer) error { return report.WriteJSON(w, r) }
