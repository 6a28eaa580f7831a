package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/espalier-ane/espalier/tensor"
)

// The benchmark networks come without weights: a list says, for each record of a
// weight file, where it lies and what its numbers are like. complete copies a
// network and draws such numbers, the same ones each time. Both sides get them:
//
//	small arrays in model.onnx ──────────► records of weight.bin, as fp16
//	drawn numbers ────────────► the other records of weight.bin
//	                                 │
//	                                 └──► records of weights.data, as fp32
//
// Which record is whose is known by the number of elements, the mean and the
// deviation.

// A weightList describes a weight file.
type weightList struct {
	File    string
	Size    int64
	Count   uint32 // records, of a file of Core ML
	Version uint32
	Records []weightRecord
}

type weightRecord struct {
	Name        string          // of the twin
	Shape       []int           // of the twin
	DType       json.RawMessage // a code, or a name
	Offset      int64           // of its header, if it has one
	Bytes       int64
	DataOffset  int64  `json:"data_offset"`
	PaddingBits uint64 `json:"padding_bits"`
	Mean, Std   float64
}

// complete makes a network complete in a folder of ours, unless it is already.
// Another process may do so at the same time.
func complete(from, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(to), ".making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if err := os.CopyFS(made, os.DirFS(from)); err != nil {
		return err
	}
	if err := writeWeights(made); err != nil {
		return err
	}
	if err := os.Rename(made, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeWeights writes the weight files of both sides.
func writeWeights(to string) error {
	other, err := readTwin(filepath.Join(to, "onnx", "model.onnx"))
	if errors.Is(err, fs.ErrNotExist) {
		other, err = nil, nil
	}
	if err != nil {
		return err
	}
	ours, data, err := oursOf(to, other)
	if err == nil && other != nil {
		err = writeTwin(to, other, ours, data)
	}
	return err
}

// oursOf reads the weight file of a package, or draws and writes it.
func oursOf(dir string, other *twin) (*weightList, []byte, error) {
	list, err := readList(filepath.Join(dir, "weights.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return &weightList{}, nil, nil // there are no weights
	}
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "model.mlpackage", filepath.FromSlash(list.File))
	if data, err := os.ReadFile(path); err == nil {
		return list, data, nil
	}
	var small []initializer
	if other != nil {
		small = other.small
	}
	data, err := draw(list, small)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	return list, data, os.WriteFile(path, data, 0o644)
}

func readList(path string) (*weightList, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var l weightList
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &l, nil
}

// draw makes a weight file of Core ML: numbers of a small array that the twin has
// in itself, else seeded ones.
func draw(l *weightList, small []initializer) ([]byte, error) {
	random := rand.New(rand.NewPCG(2026, 11))
	data := make([]byte, l.Size)
	binary.LittleEndian.PutUint32(data, l.Count)
	binary.LittleEndian.PutUint32(data[4:], l.Version)
	before := uint32(0) // the code of the record before
	for _, r := range l.Records {
		code, err := r.code()
		if err != nil {
			return nil, err
		}
		scale := 1.0
		if before == packedCode && code != packedCode { // a palette
			scale = 1 / paletteSpread
		}
		before = code
		head := data[r.Offset:]
		binary.LittleEndian.PutUint32(head, 0xdeadbeef)
		binary.LittleEndian.PutUint32(head[4:], code)
		binary.LittleEndian.PutUint64(head[8:], uint64(r.Bytes))
		binary.LittleEndian.PutUint64(head[16:], uint64(r.DataOffset))
		binary.LittleEndian.PutUint64(head[24:], r.PaddingBits)

		to := data[r.DataOffset : r.DataOffset+r.Bytes]
		known := r.nearest(small)
		number := func(i int) float32 {
			if known != nil {
				return known.values[i]
			}
			return float32(scale * (r.Mean + r.Std*random.NormFloat64()))
		}
		switch code {
		case float16Code:
			for i := range len(to) / 2 {
				binary.LittleEndian.PutUint16(to[2*i:], tensor.ToF16(number(i)))
			}
		case float32Code:
			for i := range len(to) / 4 {
				binary.LittleEndian.PutUint32(to[4*i:], math.Float32bits(number(i)))
			}
		default: // small integers and packed ones: any bits will do
			for i := range to {
				to[i] = byte(random.Uint32())
			}
		}
	}
	return data, nil
}

// Element codes of Core ML's weight files.
const (
	float16Code = 1
	float32Code = 2
	packedCode  = 3 // bytes, of which codes of a few bits are packed into some
)

// paletteSpread is how much wider the entries of a palette lie than the weights that it
// stands for, since most of these take the entries in the middle. Codes that are drawn
// take all entries alike: with the palette as wide as it is, the weights would be three
// times as large as those of the fp16 network, and the results not finite.
const paletteSpread = 3

func (r *weightRecord) code() (code uint32, err error) {
	err = json.Unmarshal(r.DType, &code)
	return code, err
}

// floats returns the numbers of a record of Core ML; nil if they are integers.
func (r *weightRecord) floats(data []byte) []float32 {
	data = data[r.DataOffset : r.DataOffset+r.Bytes]
	var values []float32
	switch code, _ := r.code(); code {
	case float16Code:
		for ; len(data) > 0; data = data[2:] {
			values = append(values, tensor.F16(binary.LittleEndian.Uint16(data)))
		}
	case float32Code:
		for ; len(data) > 0; data = data[4:] {
			values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
	}
	return values
}

// elements counts the numbers of a record of Core ML; 0 if they are integers.
func (r *weightRecord) elements() int {
	switch code, _ := r.code(); code {
	case float16Code:
		return int(r.Bytes / 2)
	case float32Code:
		return int(r.Bytes / 4)
	}
	return 0
}

// near is how far the means and deviations of two lists of one array may lie
// apart, in deviations: they have four digits, and one side was rounded to fp16.
const near = 0.005

// apart says how far two descriptions are from being of one array.
func apart(mean, std, mean2, std2 float64) float64 {
	scale := max(std, std2, 1e-3*max(math.Abs(mean), math.Abs(mean2)), 1e-12)
	return (math.Abs(mean-mean2) + math.Abs(std-std2)) / scale
}

// nearest finds the small array of the twin that a record of Core ML is.
func (r *weightRecord) nearest(small []initializer) *initializer {
	var best *initializer
	least := near
	for i := range small {
		s := &small[i]
		if d := apart(r.Mean, r.Std, s.mean, s.std); len(s.values) == r.elements() && d < least {
			best, least = s, d
		}
	}
	return best
}

// writeTwin writes the weight file of the twin: the numbers of ours.
func writeTwin(dir string, other *twin, ours *weightList, data []byte) error {
	list, err := readList(filepath.Join(dir, "onnx", "weights.json"))
	if err != nil {
		return err
	}
	out := make([]byte, list.Size)
	for _, r := range list.Records {
		if string(r.DType) != `"float32"` {
			return fmt.Errorf("%s: the twin's %s has elements %s", dir, r.Name, r.DType)
		}
		var from *weightRecord
		least := near
		for i := range ours.Records {
			o := &ours.Records[i]
			if d := apart(r.Mean, r.Std, o.Mean, o.Std); int64(o.elements())*4 == r.Bytes && d < least {
				from, least = o, d
			}
		}
		if from == nil {
			return fmt.Errorf("%s: no weights of ours are like %s of the twin", dir, r.Name)
		}
		values := from.floats(data)
		if other.columns[r.Name] && len(r.Shape) == 2 { // a linear layer of ours has outputs × inputs
			values = transpose(values, r.Shape[1], r.Shape[0])
		}
		to := out[r.Offset : r.Offset+r.Bytes]
		for i, v := range values {
			binary.LittleEndian.PutUint32(to[4*i:], math.Float32bits(v))
		}
	}
	return os.WriteFile(filepath.Join(dir, "onnx", filepath.FromSlash(list.File)), out, 0o644)
}

// transpose turns a matrix of rows by columns.
func transpose(values []float32, rows, columns int) []float32 {
	out := make([]float32, len(values))
	for i := range rows {
		for j := range columns {
			out[j*rows+i] = values[i*columns+j]
		}
	}
	return out
}
