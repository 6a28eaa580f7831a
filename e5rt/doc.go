// Package e5rt is the runtime: it runs bundles.
//
//	lib, err := e5rt.Open(b, e5rt.Options{})   // containers loaded, buffers planned, everything checked
//	f, err := lib.Function("main")
//	op := f.NewOperation()                     // the buffers of one call
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
// A function with states takes a State that its NewState made. Each of its buffers
// is bound as source and as destination, and stays where it is. A function with
// engine segments only runs without allocating, from the second time on.
//
// Runs that share an operation wait for each other, as long as their contexts do.
// Closing the library, or the bundle, waits for the runs under way; later ones give
// ErrClosed. The files of a bundle are mapped, and not to be written to while it is
// open: runs give ErrFileChanged from then on, even if a page of them is gone.
//
// Engine segments run on internal/engine. Host segments go through the interface
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
//     the inputs and states of the manifest, outputs its outputs. The size of a port
//     is that of its value; 0 if that has no layout.
//   - Operations run in the order in which they stand. Operands are symbols. A value
//     keeps one symbol, of one type, through the whole function; it is written once,
//     before it is read. A port is the symbol of its name.
//   - The layout of an operand is e5.Dense: as many extents as the value has axes,
//     outermost first, elements side by side. An element type that the
//     descriptor has no code for is stored under one of its width, bool under
//     uint8; the container or the host says what it is.
//   - A value whose shape is not known, a list, a string or a dictionary is
//     e5.Opaque: no extents and a component pack of 0. Only host segments and ports
//     have such values.
//   - A Cast takes one operand to another with as many elements. If the element
//     types are the same, it costs nothing: both symbols are one buffer. It
//     brackets the engine segments at the ports of the function, from x to
//     x__engine and from y__engine to y.
//   - An AneInference runs a container: ProgramSymbol is its path, ProcedureName the
//     name of its program. A port of the container is bound to the symbol of its
//     name; where two ports have one name, hwx.Symbols has the second's. If its
//     elements lie side by side, it is the buffer of the symbol; if there are gaps
//     between them, as chips want them between rows, they are copied to a
//     surface before the program runs, and from it afterwards, states both ways.
//     Inputs are the input ports and states, outputs the output ports and states,
//     in the order of the container.
//   - A CpuInference calls a function of the host program. Its operands are the
//     inputs and outputs of that function, in their order. States are inputs there;
//     they may be named among the outputs too, anywhere.
//   - A state is the symbol of its port wherever it is used. It is not cast. The
//     operation that changes it names it on both sides, and one that only reads it
//     as an input alone.
//
// # Which file is whose
//
//	library.go    Open, Library, Function, Port
//	plan.go       from the symbols of the descriptor to slots
//	steps.go      from its operations to steps
//	operation.go  buffers, and running the steps on them
//	stream.go     operations one after the other, here or on another goroutine
//	event.go      what orders operations of several streams, and wakes callers
//	pool.go       operations and streams that are used again
//	stats.go      what runs copied and dispatched, and where the time went
//	compiler.go   the interface to the compiler, and functions for other shapes
//	state.go      the buffers that outlive a run
//	cast.go       conversion of element types
//	surface.go    elements with gaps between them
//	host.go       the interface to the host
package e5rt
