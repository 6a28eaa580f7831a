// Exponentials in fp64, with AVX-512.

// R9 points to the constants. What they are called stands beside them.

// REDUCE makes of x a whole number n of ln 2 and a rest, and of the rest q its
// exponential less 1:
//
//	q = r + r²·(1/2! + r/3! + …)
//
// x is bounded first, such that n stays whole; NaN goes through.
#define REDUCE(x, n, q) \
	VBROADCASTSD 24(R9), n \
	VMINPD x, n, x \
	VBROADCASTSD 32(R9), n \
	VMAXPD x, n, x \
	VMULPD.BCST 0(R9), x, n \
	VRNDSCALEPD $8, n, n \
	VFNMADD231PD.BCST 8(R9), n, x \
	VFNMADD231PD.BCST 16(R9), n, x \
	VBROADCASTSD 168(R9), q \
	VFMADD213PD.BCST 160(R9), x, q \
	VFMADD213PD.BCST 152(R9), x, q \
	VFMADD213PD.BCST 144(R9), x, q \
	VFMADD213PD.BCST 136(R9), x, q \
	VFMADD213PD.BCST 128(R9), x, q \
	VFMADD213PD.BCST 120(R9), x, q \
	VFMADD213PD.BCST 112(R9), x, q \
	VFMADD213PD.BCST 104(R9), x, q \
	VFMADD213PD.BCST 96(R9), x, q \
	VMULPD x, q, q \
	VFMADD213PD x, x, q

// EXP makes of x its exponential, in q.
#define EXP(x, n, q) \
	REDUCE(x, n, q) \
	VADDPD.BCST 40(R9), q, q \
	VSCALEFPD n, q, q

// SIGMOID makes 1/(1+exp(-x)) of minus x, in y.
#define SIGMOID(x, n, y) \
	EXP(x, n, y) \
	VADDPD.BCST 40(R9), y, y \
	VBROADCASTSD 40(R9), n \
	VDIVPD y, n, y

// ROUND makes of the eight numbers of Z0 floats in Y1: to the nearest, or to odd if R8
// is not 0.
#define ROUND \
	TESTQ R8, R8               \
	JZ    near                 \
	VCVTPD2PS.RZ_SAE Z0, Y1    \
	VCVTPS2PD   Y1, Z2         \
	VCMPPD      $4, Z0, Z2, K2 \
	MOVL        $1, AX         \
	VPBROADCASTD AX, Y2        \
	VPORD       Y2, Y1, K2, Y1 \
	JMP         store          \
	                           \
near:                          \
	VCVTPD2PS   Z0, Y1         \
	                           \
store:

// EIGHT begins a loop over CX elements, eight at a time: K1 are those of the step.
#define EIGHT \
	MOVL  $0xff, AX \
	KMOVW AX, K1    \
	                \
loop:               \
	CMPQ  CX, $8    \
	JGE   load      \
	TESTQ CX, CX    \
	JZ    done      \
	MOVL  $1, AX    \
	SHLL  CX, AX    \
	DECL  AX        \
	KMOVW AX, K1    \
	                \
load:
