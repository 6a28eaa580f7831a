package ops

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var classifyOps = []Def{{
	Name:     "classify",
	Doc:      "the label with the highest probability, and a dictionary from labels to probabilities",
	Versions: since(IOS15, In("probabilities", F32), Const("classes", AnyType).Of(OneList)),
	Infer:    inferClassify,
	Eval:     evalClassify,
	HostOnly: "its results are a label and a dictionary, which no tensor is",
}}

func inferClassify(c *Call) ([]mil.Type, error) {
	elem, ok := c.AnyType("classes", 0).(*mil.ListType).Elem.(*mil.TensorType)
	if !ok || elem.DType != tensor.String && elem.DType != tensor.Int64 {
		return nil, fmt.Errorf("parameter classes is %v, expected a list of string or int64", c.AnyType("classes", 0))
	}
	labels, err := classLabels(c, elem.DType)
	if err != nil {
		return nil, err
	}
	if labels.Len() == 0 {
		return nil, errors.New("parameter classes is empty")
	}
	if n, ok := c.Shape("probabilities").Count(); ok && n != labels.Len() {
		return nil, fmt.Errorf("there are %d classes for %d probabilities", labels.Len(), n)
	}
	label := mil.Tensor(elem.DType)
	return []mil.Type{label, &mil.DictType{Key: label, Value: mil.Tensor(tensor.Float64)}}, nil
}

// classLabels are the labels as one array.
func classLabels(c *Call, d tensor.DType) (*tensor.Tensor, error) {
	var texts []string
	var numbers []int64
	for i, item := range c.Value("classes").(*List).Items {
		switch {
		case item.DType() != d || item.Len() != 1:
			return nil, fmt.Errorf("class %d is %v, expected %v", i, item, d)
		case d == tensor.String:
			texts = append(texts, item.Strings()[0])
		default:
			numbers = append(numbers, item.Int64s()[0])
		}
	}
	if d == tensor.String {
		return tensor.Of(texts, len(texts)), nil
	}
	return tensor.Of(numbers, len(numbers)), nil
}

func evalClassify(c *Call) error {
	probabilities := c.Tensor("probabilities").Float64s()
	labels, err := classLabels(c, c.Out(0).DType)
	if err != nil {
		return err
	}
	best := 0
	for i, p := range probabilities {
		if p > probabilities[best] || probabilities[best] != probabilities[best] {
			best = i // what is not a number is beaten by anything
		}
	}
	label, err := labels.Slice(0, best, 1, 1)
	if err != nil {
		return err
	}
	if label, err = label.Reshape(); err != nil {
		return err
	}
	c.Return(0, label)
	c.Return(1, &Dict{Keys: labels, Values: probabilities})
	return nil
}
