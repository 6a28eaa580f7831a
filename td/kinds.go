package td

import "fmt"

// The numbers below are Apple's (guide C.1) as far as Apple has them. Ours
// begin at ourKinds.
const ourKinds = 64

// nameOf returns the name with a number, or the number itself.
func nameOf[T ~uint8](names map[T]string, i T, what string) string {
	if s, ok := names[i]; ok {
		return s
	}
	return fmt.Sprintf("%s %d", what, uint8(i))
}

// A kindRow names a number and says whether it is known what it stands for. What is not can be held by a task, but no
// engine computes it.
type kindRow struct {
	name  string
	known bool
}

// rowName is nameOf for rows.
func rowName[T ~uint8](rows map[T]kindRow, i T, what string) string {
	if r, ok := rows[i]; ok {
		return r.name
	}
	return fmt.Sprintf("%s %d", what, uint8(i))
}

// Function is a function of one value: Apple's non-linear modes, and ours. A
// and B are the constants of the micro-operation that names it.
type Function uint8

// The functions.
const (
	FuncNone                     Function = 0
	FuncReLU                     Function = 1
	FuncSigmoid                  Function = 2
	FuncSigmoidHighPrecision     Function = 3 // as Sigmoid; a chip has a finer table
	FuncReLUSigmoid              Function = 4
	FuncSigmoidHard              Function = 5 // A*x + B between 0 and 1
	FuncTanh                     Function = 6
	FuncClampedReLU              Function = 7  // leaky below 0 with slope A, at most B
	FuncPReLU                    Function = 8  // x, but A*x below 0
	FuncReLUN                    Function = 9  // between 0 and A
	FuncSwish                    Function = 10 // x*sigmoid(A*x); A is 1 for silu
	FuncSwishHard                Function = 11
	FuncDirac                    Function = 12 // 1 at 0, else 0
	FuncInt                      Function = 13 // trunc(x)
	FuncFrac                     Function = 14 // x - trunc(x)
	FuncSqrt                     Function = 15
	FuncRSqrt                    Function = 16 // 1/sqrt(x+A)
	FuncClampedReLURSqrt         Function = 17
	FuncInverse                  Function = 18 // 1/(x+A)
	FuncSquare                   Function = 19
	FuncLog2                     Function = 20 // log2(x+A)
	FuncExp2                     Function = 21
	FuncExp                      Function = 22
	FuncELU                      Function = 23 // x, but A*(exp(x)-1) below 0
	FuncSign                     Function = 24
	FuncEqualZero                Function = 25
	FuncNotEqualZero             Function = 26
	FuncLessThanZero             Function = 27
	FuncLessThanEqualZero        Function = 28
	FuncGreaterThanEqualZero     Function = 29
	FuncGreaterThanZero          Function = 30
	FuncCustomLUT                Function = 31 // a table that the task carries: of version 256 it is a class, NeuronCustom
	FuncSin                      Function = 32
	FuncCos                      Function = 33
	FuncGELU                     Function = 34 // exact
	FuncGELUSigmoidApproximation Function = 35
	FuncDegamma                  Function = 36
	FuncRoundNearest             Function = 37
	FuncTrunc                    Function = 38
	FuncFloor                    Function = 39
	FuncCeil                     Function = 40
	FuncAtan                     Function = 41
	FuncAtanPart1                Function = 42
	FuncAtanPart2                Function = 43
	FuncErf                      Function = 44
	FuncThresholdedReLU          Function = 45 // x from A on, else 0
	FuncGamma                    Function = 46
	FuncAbs                      Function = 47

	FuncSoftplus              Function = ourKinds + 0 // A*log(1+exp(B*x))
	FuncSoftsign              Function = ourKinds + 1 // x/(1+|x|)
	FuncScaledTanh            Function = ourKinds + 2 // A*tanh(B*x)
	FuncGELUTanhApproximation Function = ourKinds + 3
	FuncLog                   Function = ourKinds + 4 // natural, of x+A
	FuncTan                   Function = ourKinds + 5
	FuncAsin                  Function = ourKinds + 6
	FuncAcos                  Function = ourKinds + 7
	FuncSinh                  Function = ourKinds + 8
	FuncCosh                  Function = ourKinds + 9
	FuncAsinh                 Function = ourKinds + 10
	FuncAcosh                 Function = ourKinds + 11
	FuncAtanh                 Function = ourKinds + 12
	FuncClip                  Function = ourKinds + 13 // between A and B
)

var functionRows = map[Function]kindRow{
	FuncNone:                     {"none", true},
	FuncReLU:                     {"relu", true},
	FuncSigmoid:                  {"sigmoid", true},
	FuncSigmoidHighPrecision:     {"sigmoid_high_precision", true},
	FuncReLUSigmoid:              {"relu_sigmoid", false},
	FuncSigmoidHard:              {"sigmoid_hard", true},
	FuncTanh:                     {"tanh", true},
	FuncClampedReLU:              {"clamped_relu", true},
	FuncPReLU:                    {"prelu", true},
	FuncReLUN:                    {"relun", true},
	FuncSwish:                    {"swish", true},
	FuncSwishHard:                {"swish_hard", true},
	FuncDirac:                    {"dirac", true},
	FuncInt:                      {"int", true},
	FuncFrac:                     {"frac", true},
	FuncSqrt:                     {"sqrt", true},
	FuncRSqrt:                    {"rsqrt", true},
	FuncClampedReLURSqrt:         {"clamped_relu_rsqrt", false},
	FuncInverse:                  {"inv", true},
	FuncSquare:                   {"sqr", true},
	FuncLog2:                     {"log2", true},
	FuncExp2:                     {"exp2", true},
	FuncExp:                      {"exp", true},
	FuncELU:                      {"elu", true},
	FuncSign:                     {"sign", true},
	FuncEqualZero:                {"equal_zero", true},
	FuncNotEqualZero:             {"not_equal_zero", true},
	FuncLessThanZero:             {"less_than_zero", true},
	FuncLessThanEqualZero:        {"less_than_equal_zero", true},
	FuncGreaterThanEqualZero:     {"greater_than_equal_zero", true},
	FuncGreaterThanZero:          {"greater_than_zero", true},
	FuncCustomLUT:                {"custom_lut", false},
	FuncSin:                      {"sin", true},
	FuncCos:                      {"cos", true},
	FuncGELU:                     {"gelu", true},
	FuncGELUSigmoidApproximation: {"gelu_sigmoid_approximation", true},
	FuncDegamma:                  {"degamma", false},
	FuncRoundNearest:             {"round_nearest", true},
	FuncTrunc:                    {"trunc", true},
	FuncFloor:                    {"floor", true},
	FuncCeil:                     {"ceil", true},
	FuncAtan:                     {"atan", true},
	FuncAtanPart1:                {"atan_part1", false},
	FuncAtanPart2:                {"atan_part2", false},
	FuncErf:                      {"erf", true},
	FuncThresholdedReLU:          {"thresholded_relu", true},
	FuncGamma:                    {"gamma", false},
	FuncAbs:                      {"abs", true},

	FuncSoftplus:              {"softplus", true},
	FuncSoftsign:              {"softsign", true},
	FuncScaledTanh:            {"scaled_tanh", true},
	FuncGELUTanhApproximation: {"gelu_tanh_approximation", true},
	FuncLog:                   {"log", true},
	FuncTan:                   {"tan", true},
	FuncAsin:                  {"asin", true},
	FuncAcos:                  {"acos", true},
	FuncSinh:                  {"sinh", true},
	FuncCosh:                  {"cosh", true},
	FuncAsinh:                 {"asinh", true},
	FuncAcosh:                 {"acosh", true},
	FuncAtanh:                 {"atanh", true},
	FuncClip:                  {"clip", true},
}

func (f Function) String() string { return rowName(functionRows, f, "function") }

// Valid reports whether f has a name.
func (f Function) Valid() bool { return functionRows[f].name != "" }

// Known reports whether it is known what f computes.
func (f Function) Known() bool { return functionRows[f].known }

// EWKind is a function of two values, or of one (ZinIrEWType). A comparison gives 0 or 1.
type EWKind uint8

// The kinds.
const (
	EWNone                 EWKind = 0 // the first value; ours, for a task that is all epilogue
	EWAdd                  EWKind = 1
	EWMult                 EWKind = 2
	EWSquare               EWKind = 3
	EWSub                  EWKind = 4
	EWPower                EWKind = 5
	EWDiv                  EWKind = 6
	EWMax                  EWKind = 7
	EWMin                  EWKind = 8
	EWAbs                  EWKind = 9
	EWEqualZero            EWKind = 10
	EWNotEqualZero         EWKind = 11
	EWLessThanZero         EWKind = 12
	EWLessThanEqualZero    EWKind = 13
	EWGreaterThanEqualZero EWKind = 14
	EWGreaterThanZero      EWKind = 15
	EWEqual                EWKind = 16
	EWNotEqual             EWKind = 17
	EWLessThan             EWKind = 18
	EWLessThanEqual        EWKind = 19
	EWGreaterThanEqual     EWKind = 20
	EWGreaterThan          EWKind = 21

	EWFloorDiv EWKind = ourKinds + 0 // rounded down
	EWMod      EWKind = ourKinds + 1 // with the sign of the second value
	EWAnd      EWKind = ourKinds + 2
	EWOr       EWKind = ourKinds + 3
	EWXor      EWKind = ourKinds + 4
	EWSelect   EWKind = ourKinds + 5 // of three values: the second where the first is not 0, else the third
)

var ewKindNames = map[EWKind]string{
	EWNone:                 "None",
	EWAdd:                  "Add",
	EWMult:                 "Mult",
	EWSquare:               "Square",
	EWSub:                  "Sub",
	EWPower:                "Power",
	EWDiv:                  "Div",
	EWMax:                  "Max",
	EWMin:                  "Min",
	EWAbs:                  "Abs",
	EWEqualZero:            "EqualZero",
	EWNotEqualZero:         "NotEqualZero",
	EWLessThanZero:         "LessThanZero",
	EWLessThanEqualZero:    "LessThanEqualZero",
	EWGreaterThanEqualZero: "GreaterThanEqualZero",
	EWGreaterThanZero:      "GreaterThanZero",
	EWEqual:                "Equal",
	EWNotEqual:             "NotEqual",
	EWLessThan:             "LessThan",
	EWLessThanEqual:        "LessThanEqual",
	EWGreaterThanEqual:     "GreaterThanEqual",
	EWGreaterThan:          "GreaterThan",
	EWFloorDiv:             "FloorDiv",
	EWMod:                  "Mod",
	EWAnd:                  "And",
	EWOr:                   "Or",
	EWXor:                  "Xor",
	EWSelect:               "Select",
}

func (k EWKind) String() string { return nameOf(ewKindNames, k, "elementwise kind") }

// Valid reports whether k has a name.
func (k EWKind) Valid() bool { return ewKindNames[k] != "" }

// ReductionKind is what a reduction makes of many values (ZinIrReductionType).
type ReductionKind uint8

// The kinds.
const (
	ReduceSum        ReductionKind = 0
	ReduceMin        ReductionKind = 1
	ReduceMax        ReductionKind = 2
	ReduceAvg        ReductionKind = 3
	ReduceSatSum     ReductionKind = 4
	ReduceSatSub     ReductionKind = 5
	ReduceArgMin     ReductionKind = 6
	ReduceArgMax     ReductionKind = 7
	ReduceBitwiseAnd ReductionKind = 8
	ReduceBitwiseOr  ReductionKind = 9
	ReduceBitwiseXor ReductionKind = 10

	ReduceProduct   ReductionKind = ourKinds + 0
	ReduceSumSquare ReductionKind = ourKinds + 1
	ReduceL1        ReductionKind = ourKinds + 2
	ReduceL2        ReductionKind = ourKinds + 3
	ReduceLogSum    ReductionKind = ourKinds + 4
	ReduceLogSumExp ReductionKind = ourKinds + 5
)

var reductionKindRows = map[ReductionKind]kindRow{
	ReduceSum:        {"Sum", true},
	ReduceMin:        {"Min", true},
	ReduceMax:        {"Max", true},
	ReduceAvg:        {"Avg", true},
	ReduceSatSum:     {"SatSum", false},
	ReduceSatSub:     {"SatSub", false},
	ReduceArgMin:     {"ArgMin", true},
	ReduceArgMax:     {"ArgMax", true},
	ReduceBitwiseAnd: {"BitwiseAnd", true},
	ReduceBitwiseOr:  {"BitwiseOr", true},
	ReduceBitwiseXor: {"BitwiseXor", true},
	ReduceProduct:    {"Product", true},
	ReduceSumSquare:  {"SumSquare", true},
	ReduceL1:         {"L1", true},
	ReduceL2:         {"L2", true},
	ReduceLogSum:     {"LogSum", true},
	ReduceLogSumExp:  {"LogSumExp", true},
}

func (k ReductionKind) String() string { return rowName(reductionKindRows, k, "reduction kind") }

// Valid reports whether k has a name.
func (k ReductionKind) Valid() bool { return reductionKindRows[k].name != "" }

// Known reports whether it is known what k computes.
func (k ReductionKind) Known() bool { return reductionKindRows[k].known }

// PoolKind is what a pooling makes of a window (ZinIrPoolingType).
type PoolKind uint8

// The kinds.
const (
	PoolAvg                  PoolKind = 1
	PoolMax                  PoolKind = 2
	PoolChannelMax           PoolKind = 3
	PoolMin                  PoolKind = 4
	PoolChannelMin           PoolKind = 5
	PoolL1                   PoolKind = 6
	PoolL2                   PoolKind = 7
	PoolSpatialAndChannelAvg PoolKind = 8
	PoolSpatialAndChannelMax PoolKind = 9
	PoolSpatialAndChannelMin PoolKind = 10
	PoolSpatialArgMax        PoolKind = 11
	PoolChannelArgMax        PoolKind = 12
	PoolSpatialArgMin        PoolKind = 13
	PoolChannelArgMin        PoolKind = 14
)

var poolKindRows = map[PoolKind]kindRow{
	PoolAvg:                  {"Avg", true},
	PoolMax:                  {"Max", true},
	PoolChannelMax:           {"ChannelMax", false},
	PoolMin:                  {"Min", true},
	PoolChannelMin:           {"ChannelMin", false},
	PoolL1:                   {"L1", true},
	PoolL2:                   {"L2", true},
	PoolSpatialAndChannelAvg: {"SpatialAndChannelAvg", false},
	PoolSpatialAndChannelMax: {"SpatialAndChannelMax", false},
	PoolSpatialAndChannelMin: {"SpatialAndChannelMin", false},
	PoolSpatialArgMax:        {"SpatialArgMax", false},
	PoolChannelArgMax:        {"ChannelArgMax", false},
	PoolSpatialArgMin:        {"SpatialArgMin", false},
	PoolChannelArgMin:        {"ChannelArgMin", false},
}

func (k PoolKind) String() string { return rowName(poolKindRows, k, "pooling kind") }

// Valid reports whether k has a name.
func (k PoolKind) Valid() bool { return poolKindRows[k].name != "" }

// Known reports whether it is known what k computes.
func (k PoolKind) Known() bool { return poolKindRows[k].known }
