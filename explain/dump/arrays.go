package dump

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/tensor"
)

// A WeightFile is a file of weights.
type WeightFile struct {
	Records []WeightRecord `json:"records"`
}

// A WeightRecord is an array of a weight file.
type WeightRecord struct {
	Offset     int64          `json:"offset"`
	DType      string         `json:"dtype"`
	Elements   int64          `json:"elements"`
	DataOffset int64          `json:"data_offset"`
	Bytes      int64          `json:"bytes"`
	Values     *report.Nested `json:"values,omitempty"`
}

func explainBlob(f *file) (Content, error) {
	records, err := coreml.ReadBlob(f.data)
	if err != nil && records == nil {
		return nil, f.named(err)
	}
	r := &WeightFile{Records: []WeightRecord{}}
	for _, rec := range records {
		row := WeightRecord{Offset: rec.Offset, DType: rec.DType.String(), Elements: rec.Elements, DataOffset: rec.Data, Bytes: rec.Size}
		t, bad := rec.Tensor(f.data)
		if bad != nil {
			return r, f.named(bad)
		}
		row.Values = report.First(t)
		r.Records = append(r.Records, row)
	}
	return r, f.named(err)
}

func (d *WeightFile) writeText(w *bufio.Writer, h *Head) {
	h.writeText(w, report.Count(len(d.Records), "record"))
	var rows [][]string
	for _, r := range d.Records {
		rows = append(rows, []string{fmt.Sprintf("0x%x", r.Offset), r.DType, report.Count(int(r.Elements), "element"),
			fmt.Sprintf("0x%x bytes at 0x%x", r.Bytes, r.DataOffset), r.Values.Text(int(r.Elements))})
	}
	report.Columns(w, "  ", rows)
}

// Arrays are those of an npz archive, or the one of an npy file.
type Arrays struct {
	Arrays []Array `json:"arrays"`
}

// An Array is one array with its range and its first elements.
type Array struct {
	Name   string         `json:"name,omitempty"`
	DType  string         `json:"dtype"`
	Shape  []int          `json:"shape"`
	Min    *report.Number `json:"min,omitempty"`
	Max    *report.Number `json:"max,omitempty"`
	Mean   *report.Number `json:"mean,omitempty"`
	NaN    int            `json:"nan,omitempty"`
	Inf    int            `json:"infinite,omitempty"`
	Values *report.Nested `json:"values,omitempty"`

	array *tensor.Tensor
}

func explainArrays(f *file) (Content, error) {
	arrays, err := readArrays(f.data)
	if err != nil {
		return nil, f.named(err)
	}
	r := &Arrays{Arrays: []Array{}}
	for _, a := range arrays {
		row := Array{Name: a.Name, DType: a.Tensor.DType().String(), Shape: a.Tensor.Shape(), array: a.Tensor}
		if row.Shape == nil {
			row.Shape = []int{}
		}
		row.Values = report.First(a.Tensor)
		if t := a.Tensor.DType(); t != tensor.String && t != tensor.Bool {
			s := report.Summarize(a.Tensor)
			row.NaN, row.Inf = s.NaN, s.Infinite
			if s.Finite > 0 {
				row.Min, row.Max, row.Mean = (*report.Number)(&s.Min), (*report.Number)(&s.Max), (*report.Number)(&s.Mean)
			}
		}
		r.Arrays = append(r.Arrays, row)
	}
	return r, nil
}

// readArrays reads an npy file or an npz archive.
func readArrays(data []byte) ([]tensor.Named, error) {
	if tensor.IsNPY(data) {
		t, err := tensor.ReadNPY(bytes.NewReader(data))
		return []tensor.Named{{Tensor: t}}, err
	}
	return tensor.ReadNPZ(bytes.NewReader(data), int64(len(data)))
}

func (d *Arrays) writeText(w *bufio.Writer, h *Head) {
	h.writeText(w, report.Count(len(d.Arrays), "array"))
	var rows [][]string
	for _, a := range d.Arrays {
		rows = append(rows, []string{a.Name, a.DType + " " + tensor.ShapeOf(a.Shape...).String(), report.Range(a.array), a.Values.Text(a.array.Len())})
	}
	report.Columns(w, "  ", rows)
}
