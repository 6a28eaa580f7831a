// Functions of one value for results that become fp16 numbers, with AVX2: eight at a
// time, otherwise as with AVX-512, whose constants these are. R9 points to them.

//go:build amd64

#include "textflag.h"

#define REDUCE(x, n, q, t) \
	VBROADCASTSS 12(R9), n \
	VMINPS       x, n, x   \
	VBROADCASTSS 16(R9), n \
	VMAXPS       x, n, x   \
	VBROADCASTSS 0(R9), n  \
	VMULPS       x, n, n   \
	VROUNDPS     $8, n, n  \
	VBROADCASTSS 4(R9), t  \
	VFNMADD231PS t, n, x   \
	VBROADCASTSS 8(R9), t  \
	VFNMADD231PS t, n, x   \
	VBROADCASTSS 56(R9), q \
	VBROADCASTSS 52(R9), t \
	VFMADD213PS  t, x, q   \
	VBROADCASTSS 48(R9), t \
	VFMADD213PS  t, x, q   \
	VBROADCASTSS 44(R9), t \
	VFMADD213PS  t, x, q   \
	VBROADCASTSS 40(R9), t \
	VFMADD213PS  t, x, q   \
	VMULPS       x, q, q   \
	VFMADD213PS  x, x, q

// POWER makes 2^n of a whole number n, as the exponent of a float.
#define POWER(n, t) \
	VCVTPS2DQ    n, n       \
	VPBROADCASTD 120(R9), t \
	VPADDD       t, n, n    \
	VPSLLD       $23, n, n

#define EXP(x, n, q, t) \
	REDUCE(x, n, q, t)     \
	VBROADCASTSS 20(R9), t \
	VADDPS       t, q, q   \
	POWER(n, t)            \
	VMULPS       n, q, q

#define ABS(x, y) \
	VPSLLD $1, x, y \
	VPSRLD $1, y, y

// ROW goes through a row: step makes of Y0 its function, and adds to the bound in Y6
// what it must. Y8 has the constant of the call, Y14 signs, Y15 the bound.
#define ROW(step) \
	MOVQ         p+0(FP), DX      \
	MOVQ         0(DX), DI        \
	MOVQ         8(DX), CX        \
	VMOVSD       24(DX), X8       \
	VCVTSD2SS    X8, X8, X8       \
	VBROADCASTSS X8, Y8           \
	LEAQ         ·singles(SB), R9 \
	VBROADCASTSS 100(R9), Y15     \
	VPCMPEQD     Y14, Y14, Y14    \
	VPSLLD       $31, Y14, Y14    \
	                              \
loop:                             \
	CMPQ         CX, $8           \
	JLT          done             \
	VMOVUPS      (DI), Y0         \
	ABS(Y0, Y1)                   \
	VBROADCASTSS 116(R9), Y2      \
	VCMPPS       $13, Y2, Y1, Y2  \
	VMOVMSKPS    Y2, AX           \
	TESTL        AX, AX           \
	JNZ          done             \
	VMOVAPS      Y15, Y6          \
	step                          \
	VMULPS       Y0, Y6, Y1       \
	VSUBPS       Y1, Y0, Y2       \
	VADDPS       Y1, Y0, Y3       \
	VCVTPS2PH    $0, Y2, X2       \
	VCVTPS2PH    $0, Y3, X3       \
	VPCMPEQW     X2, X3, X2       \
	VPMOVMSKB    X2, AX           \
	CMPL         AX, $0xffff      \
	JNE          done             \
	VMOVUPS      Y0, (DI)         \
	ADDQ         $32, DI          \
	SUBQ         $8, CX           \
	JMP          loop             \
	                              \
done:                             \
	MOVQ 8(DX), AX                \
	SUBQ CX, AX                   \
	MOVQ AX, 32(DX)               \
	VZEROUPPER                    \
	RET

#define EXP1 \
	EXP(Y0, Y1, Y2, Y3) \
	VMOVAPS Y2, Y0

// func expEight(p *function)
TEXT ·expEight(SB), NOSPLIT, $0-8
	ROW(EXP1)

#define SIGMOID1 \
	VPXOR        Y14, Y0, Y0 \
	EXP(Y0, Y1, Y2, Y3)      \
	VBROADCASTSS 20(R9), Y1  \
	VADDPS       Y1, Y2, Y2  \
	VDIVPS       Y2, Y1, Y0

// func sigmoidEight(p *function)
TEXT ·sigmoidEight(SB), NOSPLIT, $0-8
	ROW(SIGMOID1)

#define GATED1(slope) \
	ABS(Y0, Y1)                 \
	VBROADCASTSS 12(R9), Y2     \
	VMINPS       Y1, Y2, Y1     \
	VBROADCASTSS slope(R9), Y2  \
	VFMADD231PS  Y2, Y1, Y6     \
	SIGMOID1                    \
	VMULPS       Y10, Y0, Y0

#define SWISH1 \
	VMOVAPS Y0, Y10    \
	VMULPS  Y8, Y0, Y0 \
	GATED1(108)

// func swishEight(p *function)
TEXT ·swishEight(SB), NOSPLIT, $0-8
	ROW(SWISH1)

#define GELUTANH1 \
	VMOVAPS      Y0, Y10     \
	VMULPS       Y0, Y0, Y1  \
	VBROADCASTSS 92(R9), Y2  \
	VBROADCASTSS 96(R9), Y3  \
	VFMADD231PS  Y3, Y1, Y2  \
	VMULPS       Y2, Y0, Y0  \
	GATED1(112)

// func geluTanhEight(p *function)
TEXT ·geluTanhEight(SB), NOSPLIT, $0-8
	ROW(GELUTANH1)

#define TANH1 \
	VPAND        Y14, Y0, Y10 \
	ABS(Y0, Y0)               \
	VBROADCASTSS 28(R9), Y1   \
	VMULPS       Y1, Y0, Y0   \
	REDUCE(Y0, Y1, Y2, Y3)    \
	POWER(Y1, Y3)             \
	VBROADCASTSS 20(R9), Y3   \
	VSUBPS       Y3, Y1, Y4   \
	VFMADD213PS  Y4, Y1, Y2   \
	VBROADCASTSS 24(R9), Y3   \
	VADDPS       Y3, Y2, Y3   \
	VDIVPS       Y3, Y2, Y0   \
	ABS(Y0, Y0)               \
	VPOR         Y10, Y0, Y0

// func tanhEight(p *function)
TEXT ·tanhEight(SB), NOSPLIT, $0-8
	ROW(TANH1)

#define GELU1 \
	VMOVAPS      Y0, Y10        \
	ABS(Y0, Y3)                 \
	VBROADCASTSS 104(R9), Y4    \
	VMINPS       Y3, Y4, Y3     \
	VMULPS       Y3, Y3, Y4     \
	VBROADCASTSS 36(R9), Y5     \
	VMULPS       Y5, Y4, Y4     \
	VBROADCASTSS 108(R9), Y5    \
	VFNMADD231PS Y5, Y4, Y6     \
	VBROADCASTSS 32(R9), Y7     \
	VMULPS       Y7, Y3, Y3     \
	VBROADCASTSS 20(R9), Y5     \
	VADDPS       Y5, Y3, Y5     \
	VDIVPS       Y5, Y3, Y11    \
	VSUBPS       Y7, Y11, Y11   \
	VBROADCASTSS 88(R9), Y9     \
	VBROADCASTSS 84(R9), Y5     \
	VFMADD213PS  Y5, Y11, Y9    \
	VBROADCASTSS 80(R9), Y5     \
	VFMADD213PS  Y5, Y11, Y9    \
	VBROADCASTSS 76(R9), Y5     \
	VFMADD213PS  Y5, Y11, Y9    \
	VBROADCASTSS 72(R9), Y5     \
	VFMADD213PS  Y5, Y11, Y9    \
	VBROADCASTSS 68(R9), Y5     \
	VFMADD213PS  Y5, Y11, Y9    \
	VBROADCASTSS 64(R9), Y5     \
	VFMADD213PS  Y5, Y11, Y9    \
	VBROADCASTSS 60(R9), Y5     \
	VFMADD213PS  Y5, Y11, Y9    \
	EXP(Y4, Y1, Y2, Y3)         \
	VMULPS       Y9, Y2, Y2     \
	VXORPS       Y9, Y9, Y9     \
	VCMPPS       $13, Y9, Y10, Y9 \
	VBROADCASTSS 20(R9), Y4     \
	VSUBPS       Y2, Y4, Y4     \
	VBLENDVPS    Y9, Y4, Y2, Y2 \
	VMULPS       Y10, Y2, Y0

// func geluEight(p *function)
TEXT ·geluEight(SB), NOSPLIT, $0-8
	ROW(GELU1)
