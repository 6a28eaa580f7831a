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
	FuncCustomLUT                Function = 31 // a table that the task carries: no version-256 task has one
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

var functionNames = map[Function]string{
	FuncNone:                     "none",
	FuncReLU:                     "relu",
	FuncSigmoid:                  "sigmoid",
	FuncSigmoidHighPrecision:     "sigmoid_high_precision",
	FuncReLUSigmoid:              "relu_sigmoid",
	FuncSigmoidHard:              "sigmoid_hard",
	FuncTanh:                     "tanh",
	FuncClampedReLU:              "clamped_relu",
	FuncPReLU:                    "prelu",
	FuncReLUN:                    "relun",
	FuncSwish:                    "swish",
	FuncSwishHard:                "swish_hard",
	FuncDirac:                    "dirac",
	FuncInt:                      "int",
	FuncFrac:                     "frac",
	FuncSqrt:                     "sqrt",
	FuncRSqrt:                    "rsqrt",
	FuncClampedReLURSqrt:         "clamped_relu_rsqrt",
	FuncInverse:                  "inv",
	FuncSquare:                   "sqr",
	FuncLog2:                     "log2",
	FuncExp2:                     "exp2",
	FuncExp:                      "exp",
	FuncELU:                      "elu",
	FuncSign:                     "sign",
	FuncEqualZero:                "equal_zero",
	FuncNotEqualZero:             "not_equal_zero",
	FuncLessThanZero:             "less_than_zero",
	FuncLessThanEqualZero:        "less_than_equal_zero",
	FuncGreaterThanEqualZero:     "greater_than_equal_zero",
	FuncGreaterThanZero:          "greater_than_zero",
	FuncCustomLUT:                "custom_lut",
	FuncSin:                      "sin",
	FuncCos:                      "cos",
	FuncGELU:                     "gelu",
	FuncGELUSigmoidApproximation: "gelu_sigmoid_approximation",
	FuncDegamma:                  "degamma",
	FuncRoundNearest:             "round_nearest",
	FuncTrunc:                    "trunc",
	FuncFloor:                    "floor",
	FuncCeil:                     "ceil",
	FuncAtan:                     "atan",
	FuncAtanPart1:                "atan_part1",
	FuncAtanPart2:                "atan_part2",
	FuncErf:                      "erf",
	FuncThresholdedReLU:          "thresholded_relu",
	FuncGamma:                    "gamma",
	FuncAbs:                      "abs",

	FuncSoftplus:              "softplus",
	FuncSoftsign:              "softsign",
	FuncScaledTanh:            "scaled_tanh",
	FuncGELUTanhApproximation: "gelu_tanh_approximation",
	FuncLog:                   "log",
	FuncTan:                   "tan",
	FuncAsin:                  "asin",
	FuncAcos:                  "acos",
	FuncSinh:                  "sinh",
	FuncCosh:                  "cosh",
	FuncAsinh:                 "asinh",
	FuncAcosh:                 "acosh",
	FuncAtanh:                 "atanh",
	FuncClip:                  "clip",
}

func (f Function) String() string { return nameOf(functionNames, f, "function") }

// Valid reports whether f has a name.
func (f Function) Valid() bool { return functionNames[f] != "" }

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

var reductionKindNames = map[ReductionKind]string{
	ReduceSum:        "Sum",
	ReduceMin:        "Min",
	ReduceMax:        "Max",
	ReduceAvg:        "Avg",
	ReduceSatSum:     "SatSum",
	ReduceSatSub:     "SatSub",
	ReduceArgMin:     "ArgMin",
	ReduceArgMax:     "ArgMax",
	ReduceBitwiseAnd: "BitwiseAnd",
	ReduceBitwiseOr:  "BitwiseOr",
	ReduceBitwiseXor: "BitwiseXor",
	ReduceProduct:    "Product",
	ReduceSumSquare:  "SumSquare",
	ReduceL1:         "L1",
	ReduceL2:         "L2",
	ReduceLogSum:     "LogSum",
	ReduceLogSumExp:  "LogSumExp",
}

func (k ReductionKind) String() string { return nameOf(reductionKindNames, k, "reduction kind") }

// Valid reports whether k has a name.
func (k ReductionKind) Valid() bool { return reductionKindNames[k] != "" }

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

var poolKindNames = map[PoolKind]string{
	PoolAvg:                  "Avg",
	PoolMax:                  "Max",
	PoolChannelMax:           "ChannelMax",
	PoolMin:                  "Min",
	PoolChannelMin:           "ChannelMin",
	PoolL1:                   "L1",
	PoolL2:                   "L2",
	PoolSpatialAndChannelAvg: "SpatialAndChannelAvg",
	PoolSpatialAndChannelMax: "SpatialAndChannelMax",
	PoolSpatialAndChannelMin: "SpatialAndChannelMin",
	PoolSpatialArgMax:        "SpatialArgMax",
	PoolChannelArgMax:        "ChannelArgMax",
	PoolSpatialArgMin:        "SpatialArgMin",
	PoolChannelArgMin:        "ChannelArgMin",
}

func (k PoolKind) String() string { return nameOf(poolKindNames, k, "pooling kind") }

// Valid reports whether k has a name.
func (k PoolKind) Valid() bool { return poolKindNames[k] != "" }
