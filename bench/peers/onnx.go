package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// A twin is what the weights of an ONNX file need to know of it.
type twin struct {
	small   []initializer   // the fp32 constants that lie in the file itself
	columns map[string]bool // matrices that a MatMul has as its second operand, inputs × outputs
}

// An initializer is a constant array that lies in an ONNX file itself.
type initializer struct {
	name      string
	values    []float32
	mean, std float64
}

// Numbers of ONNX's messages, and of an element type.
const (
	modelGraph       = 7
	graphNode        = 1
	graphInitializer = 5
	nodeInput        = 1
	nodeOperation    = 4
	tensorDataType   = 2
	tensorName       = 8
	tensorRawData    = 9

	elementFloat32 = 1
)

// readTwin reads an ONNX file.
func readTwin(path string) (*twin, error) {
	model, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &twin{columns: map[string]bool{}}
	err = fields(model, func(number protowire.Number, graph []byte, _ uint64) error {
		if number != modelGraph {
			return nil
		}
		return fields(graph, func(number protowire.Number, part []byte, _ uint64) error {
			switch number {
			case graphNode:
				return t.node(part)
			case graphInitializer:
				i, err := readInitializer(part)
				if len(i.values) > 0 {
					t.small = append(t.small, i)
				}
				return err
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func (t *twin) node(node []byte) error {
	var inputs []string
	operation := ""
	err := fields(node, func(number protowire.Number, b []byte, _ uint64) error {
		switch number {
		case nodeInput:
			inputs = append(inputs, string(b))
		case nodeOperation:
			operation = string(b)
		}
		return nil
	})
	if operation == "MatMul" && len(inputs) == 2 {
		t.columns[inputs[1]] = true
	}
	return err
}

func readInitializer(tensor []byte) (i initializer, err error) {
	kind, raw := 0, []byte(nil)
	err = fields(tensor, func(number protowire.Number, b []byte, v uint64) error {
		switch number {
		case tensorDataType:
			kind = int(v)
		case tensorName:
			i.name = string(b)
		case tensorRawData:
			raw = b
		}
		return nil
	})
	if kind != elementFloat32 {
		return i, err
	}
	for ; len(raw) >= 4; raw = raw[4:] {
		i.values = append(i.values, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	i.mean, i.std = meanAndDeviation(i.values)
	return i, err
}

// fields calls f for each field of a message, with its bytes or its number.
func fields(message []byte, f func(number protowire.Number, b []byte, v uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var b []byte
		var v uint64
		switch kind {
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errors.Join(fmt.Errorf("field %d", number), protowire.ParseError(n))
		}
		message = message[n:]
		if err := f(number, b, v); err != nil {
			return err
		}
	}
	return nil
}

func meanAndDeviation(values []float32) (mean, std float64) {
	for _, v := range values {
		mean += float64(v)
	}
	mean /= float64(len(values))
	for _, v := range values {
		std += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, math.Sqrt(std / float64(len(values)))
}
