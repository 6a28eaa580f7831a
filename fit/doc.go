// Package fit makes a table of 33 knots of a function of one number, as the
// engine evaluates the activations that it has, and layers that do the same on
// chips that take no table of one's own.
//
//	r, err := fit.Table(math.Erf, fit.Domain{Min: -4, Max: 4}, fit.Options{})
//	r.Table       the table, for a layer NeuronCustom
//	r.Rounded     how far it is from the function, as the engine computes it
//	r.Basis()     the same curve as linear, rectifier, linear
//	r.SVG(w)      function, fit and error
//
// A function may also be written down: Parse reads "exp(-x^2)". Or it is given by
// its values: Through makes lines of them.
//
// The package knows the arithmetic of a table, not how a graph is compiled.
package fit
