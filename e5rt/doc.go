// Package e5rt is the runtime: it runs bundles.
//
//	lib, err := e5rt.Open(b, e5rt.Options{})   // containers loaded, buffers planned, everything checked
//	f, err := lib.Function("main")
//	op := f.NewOperation()                     // the memory of one call
//	err = op.Set("x", x)                       // or Bind, to use memory of the caller
//	err = op.Run(ctx, nil)
//	y, err := op.Value("y")
//
// Several operations run as one stream, here or on a goroutine of the stream:
//
//	s := e5rt.NewStream()
//	err = s.Encode(op, nil)                    // its ports stay as they are bound, until Reset
//	err = s.Encode(next, nil, e5rt.Signals(done, 1))
//	err = s.Submit(ctx, func(err error) { … }) // or Execute
//	err = done.Wait(ctx, 1)
//	err = s.Reset()
//
// Models are compiled by a Compiler that is injected, also for shapes of inputs that come
// later: Compile, Library.Specialize.
//
// A function with states takes a State that its NewState made. What it holds is
// bound as source and as destination, as the engine wants it, and is not copied. A function with
// engine segments only runs without allocating, from the second time on.
//
// A caller's memory may lie as a port does, or as the engine wants it there: then it
// is used where it is, and nothing is copied.
//
//	p, err := op.Port("x")
//	b, err := e5rt.NewBuffer(p.EngineLayout()) // or WrapBuffer, or MapBuffer
//	err = p.Bind(b)
//
// Runs that share an operation wait for each other, as long as their contexts do.
// Closing the library, or the bundle, waits for the runs under way; later ones give
// ErrClosed. The files of a bundle are mapped, and not to be written to while it is
// open: runs give ErrFileChanged from then on, even if a page of them is gone.
//
// Engine segments are requests to internal/driver, which gives them the engine: at once, on the goroutine of the caller, if that is
// idle. A target says how many run at a time: one on the M1, on ours one for each processor. Host segments go through the interface
// Host: this package knows nothing of what a host function is made of, so that a
// program that runs bundles of engine segments only has neither operations nor
// compiler in it.
//
// # What the descriptor says
//
// Between the compiler and this package stands the descriptor (package e5), of
// which we read the following. What is not so is refused by Open.
//
//   - A function of the model is a function of the descriptor, of the same name. Its
//     inputs and outputs are ports with the names of features and states: inputs are
//     the inputs and states of the manifest, outputs its outputs. A port has the
//     layout and the size of its value; 0 if that has no layout.
//   - Operations run in the order in which they stand. Operands are symbols. A value
//     keeps one symbol, of one type, through the whole function; it is written once,
//     before it is read. A port is the symbol of its name.
//   - The layout of an operand has as many extents and strides as the value has axes,
//     outermost first. No two elements share bytes. Of a value of the host, elements
//     lie side by side (e5.Dense); an operand of a container lies as the port there,
//     whose extents and strides it has by name too. An element type that the
//     descriptor has no code for is stored under one of its width, bool under
//     uint8; the container or the host says what it is.
//   - A value whose shape is not known, a list, a string or a dictionary is
//     e5.Opaque: no extents and a component pack of 0. Only host segments and ports
//     have such values.
//   - A Cast takes one operand to another with as many elements, of another element
//     type, another layout, or both; it is the one thing that copies. It stands where
//     a port of the function and a segment differ, from x to x__engine and from
//     y__engine to y, or two segments. Where it would change nothing there is none:
//     both have one symbol. One that is there costs nothing, unless it is
//     between two ports.
//   - An AneInference runs a container: ProgramSymbol is its path, ProcedureName the
//     name of its program. Inputs are the input ports and states, outputs the output
//     ports and states, in the order of the container, whatever their symbols. The
//     program works in the memory of the symbols.
//   - A CpuInference calls a function of the host program. Its operands are the
//     inputs and outputs of that function, in their order. States are inputs there;
//     they may be named among the outputs too, anywhere.
//   - A state is the symbol of its port wherever it is used, and lies as in the
//     containers that use it, all in one way. It is not cast. The
//     operation that changes it names it on both sides, and one that only reads it
//     as an input alone.
//
// # Which file is whose
//
//	library.go    Open, Library, Function, Port
//	plan.go       from the symbols of the descriptor to slots
//	steps.go      from its operations to steps
//	operation.go  memory, and running the steps on it
//	port.go       the ports of an operation, and what is bound to them
//	buffer.go     memory in a layout: made, of the caller, or a mapped file
//	direct.go     ports bound on the engine's side of their cast
//	alias.go      ports that share memory
//	stream.go     operations one after the other, here or on another goroutine
//	event.go      what orders operations of several streams, and wakes callers
//	pool.go       operations and streams that are used again
//	stats.go      what runs copied and dispatched, and where the time went
//	compiler.go   the interface to the compiler, and functions for other shapes
//	state.go      the memory that outlives a run
//	layout.go     how elements lie
//	move.go       from one layout to another
//	cast.go       conversion of element types
//	host.go       the interface to the host
package e5rt
