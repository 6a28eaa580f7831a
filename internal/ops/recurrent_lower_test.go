package ops

import "testing"

// The input's product is one for all steps; then a step is a product and what the cell does.
func TestLowerRecurrent(t *testing.T) {
	weights := func(gates int, a args) args {
		all := args{"x": xs(1, 2, 3), "initial_h": xs(2, 4), "weight_ih": ws(gates*4, 3), "weight_hh": ws(gates*4, 4)}
		for k, v := range a {
			all[k] = v
		}
		return all
	}
	for _, tt := range []struct {
		name, kind string
		opset      Opset
		a          args
		want       string
	}{
		{"rnn", "rnn", IOS15, weights(1, nil), "Linear Linear ElementWise Neuron"},
		{"rnn, linear", "rnn", IOS15, weights(1, args{"activation": "linear"}), "Linear Linear ElementWise"},
		{"rnn, two steps", "rnn", IOS15, weights(1, args{"x": xs(2, 2, 3), "output_sequence": true}),
			"Linear InputView Linear ElementWise Neuron InputView Linear ElementWise Neuron Concat"},
		{"gru", "gru", IOS15, weights(3, nil),
			"Linear InputView Linear InputView ElementWise Neuron ElementWise InputView Linear InputView ElementWise InputView Linear InputView ElementWise Neuron Neuron ElementWise ElementWise ElementWise"},
		{"gru, reset after", "gru", IOS18, weights(3, args{"reset_after": true}),
			"Linear Linear InputView InputView ElementWise Neuron InputView ElementWise InputView ElementWise InputView InputView ElementWise Neuron Neuron ElementWise ElementWise ElementWise"},
		{"lstm", "lstm", IOS15, weights(4, args{"initial_c": xs(2, 4)}),
			"Linear Linear ElementWise InputView Neuron InputView Neuron InputView ElementWise InputView ElementWise ElementWise Neuron InputView ElementWise"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantKinds(t, lowerOp(t, tt.opset, tt.kind, tt.a), tt.want) })
	}
	wantRefusal(t, IOS15, "rnn", weights(1, args{"x": xs(129, 2, 3)}), "129 steps", "at most 128")
}
