package model_test

import (
	"fmt"
	"log"

	"github.com/espalier-ane/espalier/explain/model"
)

// What the functions of a model take and give.
func ExampleFile() {
	r, err := model.File("../../testdata/models/tiny_mobilenet/model.mlpackage")
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Functions {
		fmt.Println(f.Name, f.Opset)
		for _, x := range f.Inputs {
			fmt.Println("in", x.Name, x.Type)
		}
		for _, y := range f.Outputs {
			fmt.Println("out", y.Name, y.Type)
		}
	}
	fmt.Println(r.Weights.Parameters, "parameters")
	// Output:
	// main iOS15
	// in x fp32 array [1, 3, 32, 32]
	// out logits fp32 array [1, 10]
	// 5302 parameters
}
