package ops

import "github.com/espalier-ane/espalier/hal"

// A Conversion is how Apple's converter brings an operation to a chip (guide 4, 22, 26 and A). Our own engine does not ask.
//
// One of Native, Internal and Instead is set.
type Conversion struct {
	// Native is the operation of the compiler's dialect that it becomes. From which family on that is native,
	// package hal knows.
	Native string
	// Host says what the host makes in place of Native where the target does not have it. "": nothing, the host runs
	// the operation.
	Host string

	// Internal says why no code is generated for the operation by itself: it is reached inside a graph, or not by
	// this route.
	Internal string
	// Outside says what to write instead of an internal operation that others run.
	Outside string
	// Engine says of an internal operation that the engine does its work.
	Engine bool

	// Instead says what to write, for an operation that the converter leaves to the host on every chip.
	Instead string
}

// ConversionOf returns the row of an operation; false for one that the catalogue does not have.
func ConversionOf(kind string) (Conversion, bool) {
	c, ok := conversions[kind]
	return c, ok
}

// native is an operation of the dialect under a name.
func native(name string) Conversion { return Conversion{Native: name} }

// inside is an operation whose work the engine does as part of others.
func inside(why string) Conversion { return Conversion{Internal: why, Engine: true} }

// outside is an operation that is known to the compiler and run by others.
func outside(why, write string) Conversion { return Conversion{Internal: why, Outside: write} }

// instead is an operation that no chip runs.
func instead(write string) Conversion { return Conversion{Instead: write} }

const (
	storedWeight = "the weight is stored in another form: it is streamed, or made dense when the program is compiled"
	listsOnHost  = "a tensor with an axis for the elements, and slices of it"
	hostRandom   = "an input that holds the random numbers"
	unrolledCell = "the cell written out, step by step, with linear layers and activations"
	precomputed  = "a polynomial, or a table that is gathered from"
)

var conversions = map[string]Conversion{
	// Convolution, matrix multiplication, pooling.
	"conv": native("convolution"), "conv_quantized": native("convolution"), "conv_transpose": native("deconvolution"),
	"linear": native("linear"), "linear_activation": native("linear"), "matmul": native("matmul"), "einsum": native("matmul"),
	"avg_pool": native("average_pool"), "max_pool": native("max_pool"), "l2_pool": native("l2_pool"),
	"scaled_dot_product_attention": native("sdpa"),

	// Normalization.
	"batch_norm": native("batch_norm"), "layer_norm": native("layer_norm"), "instance_norm": native("instance_norm"),
	"l2_norm": native("l2_norm"), "local_response_norm": native("lrn"), "softmax": native("softmax"),

	// Arithmetic of elements.
	"abs": native("abs"), "add": native("add"), "sub": native("sub"), "mul": native("multiply"), "real_div": native("divide"),
	"floor_div": native("floor_div"), "pow": native("power"), "square": native("square"), "sqrt": native("sqrt"),
	"rsqrt": native("rsqrt"), "inverse": native("invert"), "maximum": native("max"), "minimum": native("min"),
	"cumsum": native("cumsum"),
	"mod":    instead("x - floor_div(x, y) * y"),

	// Comparison and logic.
	"equal": native("equal"), "not_equal": native("not_equal"), "greater": native("greater"), "greater_equal": native("greater_equal"),
	"less": native("less"), "less_equal": native("less_equal"), "logical_not": native("not"), "select": native("select"),
	"logical_and": instead("minimum or mul of the conditions as numbers"),
	"logical_or":  instead("maximum of the conditions as numbers"),
	"logical_xor": instead("not_equal of the conditions"),

	// Functions of one element.
	"relu": native("relu"), "relu6": native("relu_n"), "leaky_relu": native("leaky_relu"), "prelu": native("prelu"),
	"clamped_relu": native("clamped_relu"), "thresholded_relu": native("threshold"), "threshold": native("threshold"),
	"clip": native("clamp"), "elu": native("elu"), "sigmoid": native("sigmoid"), "sigmoid_hard": native("sigmoid"),
	"tanh": native("tanh"), "scaled_tanh": native("tanh"), "gelu": native("gelu"), "silu": native("swish"),
	"softplus": native("softplus"), "softplus_parametric": native("softplus"), "softsign": native("softsign"),
	"erf": native("erf"), "exp": native("exp"), "exp2": native("exp2"), "log": native("log2"), "sign": native("sign"),
	"ceil": native("ceil"), "floor": native("floor"), "round": native("round"),
	"sin": native("sin"), "cos": native("cos"), "atan": native("atan"),
	"tan": instead("sin(x) / cos(x) on " + hal.A15.OrLater() + "; else " + precomputed), "asin": instead(precomputed), "acos": instead(precomputed),
	"atanh": instead("log((1+x) / (1-x)) / 2"), "sinh": instead("(exp(x) - exp(-x)) / 2"), "cosh": instead("(exp(x) + exp(-x)) / 2"),

	// Reduction and ranking.
	"reduce_sum": native("reduce_sum"), "reduce_mean": native("reduce_mean"), "reduce_max": native("reduce_max"), "reduce_min": native("reduce_min"),
	"reduce_sum_square": native("reduce_sum"), "reduce_l1_norm": native("reduce_sum"), "reduce_l2_norm": native("reduce_sum"),
	"reduce_log_sum": native("reduce_sum"), "reduce_log_sum_exp": native("reduce_sum"),
	"reduce_argmax": native("arg_min_max"), "reduce_argmin": native("global_arg_min_max"),
	"reduce_prod": instead("exp(reduce_sum(log(x))), where x is positive"),
	"topk":        native("topk"), "argsort": native("sort"),

	// Moves.
	"reshape": native("reshape"), "reshape_like": native("reshape"), "expand_dims": native("reshape"), "squeeze": native("reshape"),
	"flatten2d": native("reshape"), "transpose": native("transpose"), "concat": native("concat"), "split": native("split"),
	"stack": native("concat"), "pad": native("pad"), "slice_by_size": native("slice"), "slice_update": native("slice_update"),
	"slice_by_index": inside("a slice at a known place becomes part of the operand that reads it"),
	"reverse":        native("reverse"), "tile": native("tile"), "identity": native("identity"), "crop": native("crop"),
	"gather": native("gather"), "gather_along_axis": native("gather"), "gather_nd": native("gather_nd"),
	"depth_to_space": native("channel_to_space"), "space_to_depth": native("space_to_channel"), "pixel_shuffle": native("pixel_shuffle"),
	"pixel_unshuffle": native("pixel_unshuffle"), "space_to_batch": native("space_to_batch"), "batch_to_space": native("batch_to_space"),
	"fill": native("fill"), "fill_like": native("fill"),
	"range_1d":           outside("code generation rejects it", "the numbers as a constant"),
	"reverse_sequence":   instead("slices that are reversed and joined, where the lengths are known"),
	"scatter":            instead("select by a mask, or concat of slices, where the places are known"),
	"scatter_along_axis": instead("select by a mask, or concat of slices, where the places are known"),
	"scatter_nd":         instead("select by a mask, or concat of slices, where the places are known"),
	"band_part":          instead("mul by a constant mask"),
	"non_zero":           instead("a mask of the whole tensor: the engine has no shapes that depend on data"),
	"one_hot":            instead("gather of the rows of an identity matrix"),
	"shape":              instead("the shape as a constant: graphs of the engine are static"),
	"sliding_windows":    instead("slices, joined"),

	// Sampling.
	"resize": native("resize"), "resize_bilinear": native("resize"),
	"resize_nearest_neighbor": native("resize"), "upsample_bilinear": native("resize"),
	"upsample_nearest_neighbor": native("resize"),
	"crop_resize":               native("crop_resize"), "resample": native("resample"), "affine": native("affine_transform"),
	"non_maximum_suppression": outside("it needs a backend beside the engine", "boxes and scores as outputs, and the selection after the model"),

	// Types and weights.
	"cast": native("cast"), "quantize": native("quantize"), "dequantize": native("dequantize"),
	"const":                       inside("constants are folded when the program is compiled"),
	"constexpr_affine_dequantize": inside(storedWeight), "constexpr_lut_to_dense": inside(storedWeight),
	"constexpr_sparse_to_dense": inside(storedWeight), "constexpr_lut_to_sparse": inside(storedWeight),
	"constexpr_blockwise_shift_scale": inside(storedWeight), "constexpr_sparse_blockwise_shift_scale": inside(storedWeight),
	"constexpr_cast": instead("weights that are stored in fp16"),

	// States and control flow.
	"read_state": native("read_state"), "write_state": native("write_state"), "coreml_update_state": native("write_state"),
	"cond":       outside("no code is generated for branches", "both sides, and a select of their results"),
	"while_loop": outside("no code is generated for loops", "the iterations, one after the other, where their number is known; or a model of one iteration"),

	// What has no tensor form on any chip.
	"gru": instead(unrolledCell), "lstm": instead(unrolledCell), "rnn": instead(unrolledCell),
	"random_uniform":   {Native: "random", Host: "random numbers that the host makes"},
	"random_bernoulli": instead(hostRandom), "random_categorical": instead(hostRandom), "random_normal": instead(hostRandom),
	"make_list": instead(listsOnHost), "list_length": instead(listsOnHost), "list_write": instead(listsOnHost),
	"list_read": instead(listsOnHost), "list_gather": instead(listsOnHost), "list_scatter": instead(listsOnHost),
	"classify": outside("labels are looked up by the host", "the scores as an output, and the label looked up after the model"),
}
