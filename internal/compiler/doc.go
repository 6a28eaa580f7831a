// Package compiler turns a function of a model into a bundle: what runs where, and the program of each part.
//
//	mil.Function
//	   place     which operations the engine takes, and why not the others; cut into segments
//	   lower     each engine segment becomes a graph of native layers (package ops)
//	anec.Graph
//	   fuse      layers move into the epilogues of others
//	   legalize  kinds that the target has no task for become others
//	   schedule  the order of the layers
//	   memory    layout: how every value lies, and the tasks of each layer, by the encoders of the target (package encode);
//	             addresses: where everything lies; for chips, what their rules would keep on chip
//	Plan
//	   emit      tasks with addresses, container (hwx), descriptor (e5), manifest (bundle)
//
// A graph of native layers may also come as it is, past placement and lowering (graph.go).
//
// The table in passes.go has the passes between lowering and container. A file that begins with the name of a phase has a
// pass of it. No file names a version of task descriptors: what tasks are like is known to the encoders alone.
//
// Everything is the same from run to run, bit for bit: what iterates over a map sorts, and what has a choice takes the
// smallest ID.
package compiler
