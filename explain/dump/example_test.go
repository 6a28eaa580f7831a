package dump_test

import (
	"fmt"
	"log"

	"github.com/espalier-ane/espalier/explain/dump"
)

// The ports of a hardware container, and what its tasks compute.
func ExampleFile() {
	r, err := dump.File("../../hwx/testdata/conv3x2.hwx")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println(r.Format, r.Size)
	if c, ok := r.Content.(*dump.Container); ok {
		for _, p := range c.Ports {
			fmt.Println(p.Direction, p.Name, p.Type, p.Shape)
		}
		for _, t := range c.Tasks {
			fmt.Println(t.What)
		}
	}
	// Output:
	// hardware container 32768
	// in image fp16 [1 3 1 1]
	// out probs@output fp16 [1 2 1 1]
	// 1×1 convolution 3→2 channels on 1×1, bias, from image to probs@output
}
