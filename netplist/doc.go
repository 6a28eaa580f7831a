// Package netplist reads, writes and makes network descriptions: property lists, XML or binary, whose units are the engine's own
// layers. It is the door for layers that no model converter emits.
//
//	Version          1.0.9, or 1.0.10 with a ProcedureList
//	Networks         [net]
//	ProcedureList    [{Name, InputList, OperationList, OutputList}]     one function each; without it, each network is one
//	net              Inputs, Outputs, Units, Weights, Constants, States     lists of names
//	  image            an input: five extents, interleave, strides, InputType
//	  conv             a unit: Type, Bottom, OutputType, Params
//	  probs@output     an output: Bottom, strides, OutputType
//
// Wiring is by symbol: a Bottom names an input, a state, a constant or a unit. Weights are files beside the list, which units name
// by index and offset. A float among the parameters is mostly the bits of an fp16, as an integer.
//
//	file  ── Read ──→ File ── Procedures ──→ graphs of internal/anec
//	                    ↑ │
//	         Builder ───┘ └── Write
//	                    ↑
//	graphs ── FromGraphs
//
// What a graph has and no list of Apple's is known to have carries our prefix, Espalier, and a finding says so. A tunneled unit, which
// the framework above passes through untouched, is a unit like any other here.
//
// # Axes
//
// Units of SDPA and MatrixMultiplication have the sequence, or the rows, along C; the layers of internal/anec have them along H.
// Reading such a unit exchanges the two axes before and after it, writing leaves the exchange out again.
//
// # Sources
//
// The real lists of the shared data; guide 22, 26 and B; the lists that github.com/sbryngelson/ANEForge runs on a chip (ProcedureList,
// Constants, TransposeDimensions, the neurons' keys); public decompilations of the writer inside MPSGraph (States, MutableWeights,
// ReLUN's slope) and of the parser in ANECompiler (its error words).
//
// The package knows no target: whether a chip takes a unit is asked of the graph.
package netplist
