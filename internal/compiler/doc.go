// Package compiler turns functions of a model, and graphs of native layers, into a bundle: what runs where, and the program
// of each part.
//
//	mil.Function
//	   place     which operations the engine takes, and why not the others; cut into segments
//	   lower     each engine segment becomes a graph of native layers (package ops)
//	anec.Graph   one may come as it is: the gates of the target, then cut into segments (graph.go)
//	   fuse      layers move into the epilogues of others
//	   legalize  kinds that the target has no task for become others
//	   schedule  the order of the tasks
//	   memory    where every value lies; for chips, what stays on chip, in which state, in which partition
//	Plan
//	   emit      tasks (td), container (hwx), descriptor (e5), manifest (bundle)
//
// The table in passes.go has the passes between lowering and container. A file that begins with the name of a phase has a
// pass of it.
//
// The files v7_*.go are the tasks of H13's own, which emission and the memory plan ask for, layer by layer:
//
//	v7_container, v7_select, v7_build,
//	v7_mix, v7_sublayers              which layers have them, alone or beside extension records
//	v7_memory, v7_constants,
//	v7_places                         where their values lie: scratch memory, constants, the memory plan
//	v7_op, v7_encode, v7_window,
//	v7_chip, v7_resident              a task, its words, its window; tensors on chip; results that stay there
//	v7_array, v7_planar, v7_pointwise,
//	v7_compare, v7_chain, v7_stages,
//	v7_function, v7_tables, v7_after  elementwise, functions, epilogues
//	v7_reduce*, v7_softmax, v7_norm*,
//	v7_pool, v7_taps                  what goes over axes and windows
//	v7_conv, v7_kernel, v7_weights,
//	v7_liveconv                       the array with weights
//	v7_product*, v7_runtime,
//	v7_attention                      matrix products and chains of them
//	v7_move, v7_through, v7_layout,
//	v7_view, v7_compose               copies between any strides, and what is made of them
//
// Everything is the same from run to run, bit for bit: what iterates over a map sorts, and what has a choice takes the
// smallest ID.
package compiler
