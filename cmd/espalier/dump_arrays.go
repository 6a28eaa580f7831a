package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// The types of this file are the schema of dump --json for weight files and for npz and npy files;
// docs/json.md explains them.

type blobDump struct {
	dumpHead
	Records []recordDump `json:"records"`
}

type recordDump struct {
	Offset     int64   `json:"offset"`
	DType      string  `json:"dtype"`
	Elements   int64   `json:"elements"`
	DataOffset int64   `json:"data_offset"`
	Bytes      int64   `json:"bytes"`
	Values     *nested `json:"values,omitempty"`
}

func explainBlob(d *dumpFile) (explanation, error) {
	records, err := coreml.ReadBlob(d.data)
	if err != nil && records == nil {
		return nil, d.named(err)
	}
	r := &blobDump{dumpHead: d.dumpHead, Records: []recordDump{}}
	for _, rec := range records {
		row := recordDump{Offset: rec.Offset, DType: rec.DType.String(), Elements: rec.Elements, DataOffset: rec.Data, Bytes: rec.Size}
		t, bad := rec.Tensor(d.data)
		if bad != nil {
			return r, d.named(bad)
		}
		if t.Len() > 0 {
			row.Values = &nested{firstElements(t, min(t.Len(), shownElements))}
		}
		r.Records = append(r.Records, row)
	}
	return r, d.named(err)
}

func (d *blobDump) print(w *bufio.Writer) {
	d.printHead(w, plural(len(d.Records), "record"))
	var rows [][]string
	for _, r := range d.Records {
		rows = append(rows, []string{fmt.Sprintf("0x%x", r.Offset), r.DType, plural(int(r.Elements), "element"),
			fmt.Sprintf("0x%x bytes at 0x%x", r.Bytes, r.DataOffset), r.Values.text(int(r.Elements))})
	}
	printColumns(w, "  ", rows)
}

// text lists the first of so many elements.
func (n *nested) text(of int) string {
	if n == nil {
		return ""
	}
	var parts []string
	for i := range n.Len() {
		parts = append(parts, elementText(n.Tensor, i))
	}
	if of > n.Len() {
		parts = append(parts, "…")
	}
	return strings.Join(parts, " ")
}

type arraysDump struct {
	dumpHead
	Arrays []arrayDump `json:"arrays"`
}

type arrayDump struct {
	Name   string  `json:"name,omitempty"`
	DType  string  `json:"dtype"`
	Shape  []int   `json:"shape"`
	Min    *number `json:"min,omitempty"`
	Max    *number `json:"max,omitempty"`
	Mean   *number `json:"mean,omitempty"`
	NaN    int     `json:"nan,omitempty"`
	Inf    int     `json:"infinite,omitempty"`
	Values *nested `json:"values,omitempty"`

	array *tensor.Tensor
}

func explainArrays(d *dumpFile) (explanation, error) {
	c, err := decodeInputFile(d.data)
	if err != nil {
		return nil, d.named(err)
	}
	if c.array != nil {
		c.arrays = []tensor.Named{{Tensor: c.array}}
	}
	r := &arraysDump{dumpHead: d.dumpHead, Arrays: []arrayDump{}}
	for _, a := range c.arrays {
		row := arrayDump{Name: a.Name, DType: a.Tensor.DType().String(), Shape: a.Tensor.Shape(), array: a.Tensor}
		if row.Shape == nil {
			row.Shape = []int{}
		}
		if n := a.Tensor.Len(); n > 0 {
			row.Values = &nested{firstElements(a.Tensor, min(n, shownElements))}
		}
		if t := a.Tensor.DType(); t != tensor.String && t != tensor.Bool {
			s := summarize(a.Tensor)
			row.NaN, row.Inf = s.NaN, s.Infinite
			if s.Finite > 0 {
				row.Min, row.Max, row.Mean = (*number)(&s.Min), (*number)(&s.Max), (*number)(&s.Mean)
			}
		}
		r.Arrays = append(r.Arrays, row)
	}
	return r, nil
}

func (d *arraysDump) print(w *bufio.Writer) {
	d.printHead(w, plural(len(d.Arrays), "array"))
	var rows [][]string
	for _, a := range d.Arrays {
		rows = append(rows, []string{a.Name, a.DType + " " + tensor.ShapeOf(a.Shape...).String(), rangeText(a.array), a.Values.text(a.array.Len())})
	}
	printColumns(w, "  ", rows)
}
