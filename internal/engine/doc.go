// Package engine executes programs: it is the virtual engine.
//
// Load reads a container once. It builds the map of memory from the ports and
// sections, walks the task list, decodes each task, and binds it to kernels:
//
//	task ─ decoder of its version ─┬─ units.Op ─┐
//	                               └─ td.Op ────┴─ operands in their memories ─ kernels of package strided
//
// Operands get their places, weights are unpacked, the activation table is made
// ready. Only a decoder, in a folder of its own, knows registers; it also says
// which field a later error is about. All that can be wrong with a program is found there, before
// anything runs: a list that loops, an address outside its memory, on-chip
// memory that is read before anything wrote it, a form whose meaning is not
// known. A Program does not change after that.
//
// Tasks that make derived memory of constants are run then, once, and what kernels
// multiply with is packed as they want it; see derived.go.
//
// A Context is one dispatch in flight: the memory of the ports, on-chip memory
// and scratch. Run executes the tasks in the order of the list, which satisfies
// every dependency between them (h13 4.2), and allocates nothing.
//
//	p, err := engine.Load(file, numerics)
//	c := p.NewContext()
//	err = c.Set("image", pixels)
//	err = p.RunAll(ctx, c)
//	err = c.Get("probs", result)
//
// A caller that has memory of its own binds it: c.BindAt(port, bytes) for an
// input, an output, or a state, which tasks read and write in place. Ports may
// share memory; see bind.go. A bundle's weights, which are in no container, are
// given to LoadWith. Of a container with several procedures, LoadProcedure loads
// one, and LoadAll all.
//
// Facts are cited as in "h13 4.3", a section of the fact sheet that was checked
// on real programs, and "oracles 3", a section of the sheet about recorded
// compiler output.
package engine
