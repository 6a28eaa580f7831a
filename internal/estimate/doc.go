// Package estimate has what is known of a graph on a target before anything runs: what its layers cost (cost.go), in which form their
// weights are read (weights.go), and how large its values may become (ranges.go, sums.go). Reports and hazards are made of it.
package estimate
