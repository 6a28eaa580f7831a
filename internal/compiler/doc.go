// Package compiler turns a function of a model into a bundle: what runs where, and the program of each part.
//
//	mil.Function
//	   place     which operations the engine takes, and why not the others; cut into segments
//	   lower     each engine segment becomes a graph of native layers (package ops)
//	anec.Graph
//	   fuse      layers move into the epilogues of others
//	   legalize  kinds that the target has no task for become others
//	   schedule  the order of the tasks
//	   memory    where every value lies; for chips, what stays on chip, in which state, in which partition
//	Plan
//	   emit      tasks (td), container (hwx), descriptor (e5), manifest (bundle)
//
// The table in passes.go has the passes between lowering and container. Everything is the same from run to
// run, bit for bit: what iterates over a map sorts, and what has a choice takes the smallest ID.
package compiler
