package task_test

import (
	"fmt"
	"log"

	"github.com/espalier-ane/espalier/explain/task"
	"github.com/espalier-ane/espalier/hwx"
)

// What the tasks of a container compute.
func ExampleExplain() {
	file, err := hwx.Open("../../hwx/testdata/add64.hwx")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	tasks, err := task.Explain(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tasks {
		fmt.Println(t.Index, t.What)
	}
	// Output:
	// 0 sum of 64 channels on 1×1, from image and image2 to probs@output
}
