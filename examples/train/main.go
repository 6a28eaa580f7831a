// Command train trains two small networks on the engine: a perceptron of two layers, and one block of a transformer.
//
//	go run ./examples/train -o loss.svg
//
// Forward and backward pass are one MIL program, which is compiled once. Each step runs it, takes the loss and the gradients, and
// gives the program other weights: nothing is compiled again. Both networks are trained in fp32 on virtual, and in fp16 with the
// numerics of H13.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
)

func main() {
	out := flag.String("o", "loss.svg", "where the loss curves go")
	steps := flag.Int("steps", 200, "how many steps are taken")
	flag.Parse()
	var curves []curve
	for _, net := range []*network{perceptron(), block()} {
		var losses [2][]float64
		for i, on := range engines {
			t, err := newTrainer(context.Background(), net, on)
			if err != nil {
				log.Fatal(err)
			}
			if losses[i], err = t.train(context.Background(), *steps); err != nil {
				log.Fatal(err)
			}
			t.close()
			curves = append(curves, curve{net.name + " on " + on.String(), losses[i]})
			fmt.Printf("%-11s on %-12s loss %.3g at first, %.3g after %d steps\n", net.name, on, losses[i][0], losses[i][*steps-1], *steps)
		}
		fmt.Printf("%-11s the losses differ by %.2g at most\n", net.name, farthest(losses[0], losses[1]))
	}
	if err := os.WriteFile(*out, draw(curves), 0o644); err != nil {
		log.Fatal(err)
	}
}

// farthest is how far two curves are apart at most.
func farthest(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, a[i]-b[i], b[i]-a[i])
	}
	return most
}
