// What is computed in fp64 with AVX2, four numbers at a time, otherwise as with AVX-512,
// whose constants these are. R9 points to them.

#include "lanes_amd64.h"

// TERM is a step of a polynomial.
#define TERM(at, x, q, t) \
	VBROADCASTSD at(R9), t \
	VFMADD213PD  t, x, q

#define REDUCE(x, n, q, t) \
	VBROADCASTSD 24(R9), n  \
	VMINPD       x, n, x    \
	VBROADCASTSD 32(R9), n  \
	VMAXPD       x, n, x    \
	VBROADCASTSD 0(R9), n   \
	VMULPD       n, x, n    \
	VROUNDPD     $8, n, n   \
	VBROADCASTSD 8(R9), t   \
	VFNMADD231PD t, n, x    \
	VBROADCASTSD 16(R9), t  \
	VFNMADD231PD t, n, x    \
	VBROADCASTSD 168(R9), q \
	TERM(160, x, q, t)      \
	TERM(152, x, q, t)      \
	TERM(144, x, q, t)      \
	TERM(136, x, q, t)      \
	TERM(128, x, q, t)      \
	TERM(120, x, q, t)      \
	TERM(112, x, q, t)      \
	TERM(104, x, q, t)      \
	TERM(96, x, q, t)       \
	VMULPD       x, q, q    \
	VFMADD213PD  x, x, q

// POWER makes of a whole number n, below 2000 in magnitude, two powers of 2, n and m,
// of which the product is 2^n.
#define POWER(n, m, t) \
	VBROADCASTSD 56(R9), m      \
	VMULPD       m, n, m        \
	VROUNDPD     $8, m, m       \
	VSUBPD       m, n, n        \
	EXPONENT(n, X15, Y15, t)    \
	EXPONENT(m, X15, Y15, t)

// EXPONENT makes 2^n of a whole number n: its exponent, which is that of 1 and n.
#define EXPONENT(n, x, y, t) \
	VCVTPD2DQY   n, x        \
	VPMOVSXDQ    x, y        \
	VPSLLQ       $52, y, y   \
	VBROADCASTSD 40(R9), t   \
	VPADDQ       t, y, n

#define EXP(x, n, q, t) \
	REDUCE(x, n, q, t)      \
	VBROADCASTSD 40(R9), t  \
	VADDPD       t, q, q    \
	POWER(n, x, t)          \
	VMULPD       n, q, q    \
	VMULPD       x, q, q

// SIGMOID makes 1/(1+exp(-x)) of minus x, in y.
#define SIGMOID(x, n, y, t) \
	EXP(x, n, y, t)         \
	VBROADCASTSD 40(R9), n  \
	VADDPD       n, y, y    \
	VDIVPD       y, n, y

#define ABS(x, y) \
	VPSLLQ $1, x, y \
	VPSRLQ $1, y, y

#define NEGATE(x) \
	VXORPD Y9, Y9, Y9 \
	VSUBPD x, Y9, x

// TIMES makes x·y of y, and 0 where x is infinite and y 0.
#define TIMES(x, y) \
	VXORPD   Y9, Y9, Y9      \
	VCMPPD   $0, Y9, y, Y3   \
	VPCMPEQQ Y9, Y9, Y9      \
	VPSLLQ   $53, Y9, Y9     \
	VPSLLQ   $1, x, Y4       \
	VPCMPEQQ Y9, Y4, Y4      \
	VANDPD   Y4, Y3, Y3      \
	VMULPD   x, y, y         \
	VANDNPD  y, Y3, y

// SQUEEZE makes masks of floats of those of doubles.
#define SQUEEZE(y, x, t) \
	VEXTRACTF128 $1, y, t       \
	VSHUFPS      $0x88, t, x, x

// ODD makes floats X1 of Y0, rounded to odd: to the nearest, one less where that is
// beyond, and the last bit is set where it is not exact.
#define ODD \
	VCVTPD2PSY Y0, X1           \
	VCVTPS2PD  X1, Y2           \
	ABS(Y2, Y3)                 \
	ABS(Y0, Y4)                 \
	VCMPPD     $0x1e, Y4, Y3, Y3 \
	VCMPPD     $0x0c, Y0, Y2, Y4 \
	SQUEEZE(Y3, X3, X2)         \
	SQUEEZE(Y4, X4, X2)         \
	VPADDD     X3, X1, X1       \
	VPSRLD     $31, X4, X4      \
	VPOR       X4, X1, X1

// ROUND makes of the four numbers of Y0 floats in X1: to the nearest, or to odd if R8
// is not 0.
#define ROUND \
	TESTQ R8, R8      \
	JZ    near        \
	ODD               \
	JMP   store       \
	                  \
near:                 \
	VCVTPD2PSY Y0, X1 \
	                  \
store:

// FOUR begins a loop over CX elements, four at a time: X13 are those of the step.
#define FOUR \
	VPCMPEQD X13, X13, X13 \
	                       \
loop:                      \
	CMPQ  CX, $4           \
	JGE   load             \
	TESTQ CX, CX           \
	JLE   done             \
	LANES8(CX, X13)        \
	                       \
load:
