// Functions of one value for results that become fp16 numbers, with AVX-512: sixteen
// at a time, in fp32, the rest under a mask. What is computed is within a bound of
// the result; where the bound leaves open which fp16 number is the nearest, and where
// x is beyond fp16, the loop ends before those sixteen.

//go:build amd64

#include "textflag.h"

DATA ·singles+0(SB)/4, $0x3fb8aa3b // log2 e
DATA ·singles+4(SB)/4, $0x3f317200 // ln 2, the first bits
DATA ·singles+8(SB)/4, $0x35bfbe8e // and the others
DATA ·singles+12(SB)/4, $0x42700000 // 60, beyond which an exponential does not matter
DATA ·singles+16(SB)/4, $0xc2700000
DATA ·singles+20(SB)/4, $0x3f800000 // 1
DATA ·singles+24(SB)/4, $0x40000000 // 2
DATA ·singles+28(SB)/4, $0xc0000000 // -2
DATA ·singles+32(SB)/4, $0x3e800000 // 1/4
DATA ·singles+36(SB)/4, $0xbf000000 // -1/2
DATA ·singles+40(SB)/4, $0x3efffffe // exp2: exp r = 1 + r + r²·(…), within 2^-28
DATA ·singles+44(SB)/4, $0x3e2aaa49 // exp3
DATA ·singles+48(SB)/4, $0x3d2aac79 // exp4
DATA ·singles+52(SB)/4, $0x3c091cea // exp5
DATA ·singles+56(SB)/4, $0x3ab51226 // exp6
DATA ·singles+60(SB)/4, $0x3e633072 // tail0: Φ(-u)·exp(u²/2), in u/(4+u) - 1/4, within 2^-24
DATA ·singles+64(SB)/4, $0xbf3bbacd // tail1
DATA ·singles+68(SB)/4, $0x3f93e36d // tail2
DATA ·singles+72(SB)/4, $0xbf9dfdc2 // tail3
DATA ·singles+76(SB)/4, $0x3f4f65f6 // tail4
DATA ·singles+80(SB)/4, $0xbe41ea1a // tail5
DATA ·singles+84(SB)/4, $0xbe12a591 // tail6
DATA ·singles+88(SB)/4, $0x3dcc39c7 // tail7
DATA ·singles+92(SB)/4, $0x3fcc422a // 2·√(2/π)
DATA ·singles+96(SB)/4, $0x3d922279 // 0.044715 of it
DATA ·singles+100(SB)/4, $0x35000000 // 2^-21, the bound
DATA ·singles+104(SB)/4, $0x41200000 // 10, beyond which Φ(-u) does not matter
DATA ·singles+108(SB)/4, $0x34000000 // 2^-23, what the bound grows by with an exponent
DATA ·singles+112(SB)/4, $0x34800000 // 2^-22, likewise
DATA ·singles+116(SB)/4, $0x47800000 // 2^16, beyond fp16
DATA ·singles+120(SB)/4, $127 // the exponent of 1
GLOBL ·singles(SB), RODATA|NOPTR, $124

// REDUCE makes of x a whole number n of ln 2 and a rest, and of the rest q its
// exponential less 1. x is bounded first; NaN goes through.
#define REDUCE(x, n, q) \
	VBROADCASTSS      12(R9), n      \
	VMINPS            x, n, x        \
	VBROADCASTSS      16(R9), n      \
	VMAXPS            x, n, x        \
	VMULPS.BCST       0(R9), x, n    \
	VRNDSCALEPS       $8, n, n       \
	VFNMADD231PS.BCST 4(R9), n, x    \
	VFNMADD231PS.BCST 8(R9), n, x    \
	VBROADCASTSS      56(R9), q      \
	VFMADD213PS.BCST  52(R9), x, q   \
	VFMADD213PS.BCST  48(R9), x, q   \
	VFMADD213PS.BCST  44(R9), x, q   \
	VFMADD213PS.BCST  40(R9), x, q   \
	VMULPS            x, q, q        \
	VFMADD213PS       x, x, q

// EXP makes of x its exponential, in q.
#define EXP(x, n, q) \
	REDUCE(x, n, q)         \
	VADDPS.BCST 20(R9), q, q \
	VSCALEFPS   n, q, q

// INVERSE makes 1/d in y: an estimate, and one step of Newton's.
#define INVERSE(d, y, z) \
	VRCP14PS     d, y      \
	VBROADCASTSS 24(R9), z \
	VFNMADD231PS y, d, z   \
	VMULPS       z, y, y

// ABS is |x|, NEGATE -x.
#define ABS(x, y) \
	VPSLLD $1, x, y \
	VPSRLD $1, y, y

#define NEGATE(x) \
	VPXORD Z14, x, x

// ROW goes through a row: step makes of Z0 its function, and adds to the bound in Z6
// what it must. Z8 has the constant of the call, Z14 signs, Z15 the bound.
#define ROW(step) \
	MOVQ         p+0(FP), DX     \
	MOVQ         0(DX), DI       \
	MOVQ         8(DX), CX       \
	VMOVSD       24(DX), X8      \
	VCVTSD2SS    X8, X8, X8      \
	VBROADCASTSS X8, Z8          \
	LEAQ         ·singles(SB), R9 \
	VBROADCASTSS 100(R9), Z15    \
	MOVL         $0x80000000, AX \
	VPBROADCASTD AX, Z14         \
	MOVL         $0xffff, AX     \
	KMOVW        AX, K1          \
	                             \
loop:                            \
	CMPQ  CX, $16                \
	JGE   load                   \
	TESTQ CX, CX                 \
	JLE   done                   \
	MOVL  $1, AX                 \
	SHLL  CX, AX                 \
	DECL  AX                     \
	KMOVW AX, K1                 \
	                             \
load:                            \
	VMOVUPS.Z   (DI), K1, Z0     \
	ABS(Z0, Z1)                  \
	VCMPPS.BCST $13, 116(R9), Z1, K3 \
	VMOVAPS     Z15, Z6          \
	step                         \
	VMULPS      Z0, Z6, Z1       \
	VSUBPS      Z1, Z0, Z2       \
	VADDPS      Z1, Z0, Z3       \
	VCVTPS2PH   $0, Z2, Y2       \
	VCVTPS2PH   $0, Z3, Y3       \
	VPCMPUW     $4, Y2, Y3, K1, K2 \
	KORTESTW    K2, K3           \
	JNZ         done             \
	VMOVUPS     Z0, K1, (DI)     \
	ADDQ        $64, DI          \
	SUBQ        $16, CX          \
	JGT         loop             \
	XORL        CX, CX           \
	                             \
done:                            \
	MOVQ 8(DX), AX               \
	SUBQ CX, AX                  \
	MOVQ AX, 32(DX)              \
	VZEROUPPER                   \
	RET

#define EXP1 \
	EXP(Z0, Z1, Z2) \
	VMOVAPS Z2, Z0

// func expSingle(p *function)
TEXT ·expSingle(SB), NOSPLIT, $0-8
	ROW(EXP1)

// SIGMOID1 is 1/(1+exp(-x)).
#define SIGMOID1 \
	NEGATE(Z0)               \
	EXP(Z0, Z1, Z2)          \
	VADDPS.BCST 20(R9), Z2, Z2 \
	INVERSE(Z2, Z0, Z1)

// func sigmoidSingle(p *function)
TEXT ·sigmoidSingle(SB), NOSPLIT, $0-8
	ROW(SIGMOID1)

// GATED1 is Z10 times the sigmoid of Z0, which is rounded: by how much of it the
// bound grows is a constant at slope.
#define GATED1(slope) \
	ABS(Z0, Z1)                       \
	VBROADCASTSS     12(R9), Z2       \
	VMINPS           Z1, Z2, Z1       \
	VFMADD231PS.BCST slope(R9), Z1, Z6 \
	SIGMOID1                          \
	VMULPS           Z10, Z0, Z0

// SWISH1 is x times the sigmoid of a·x.
#define SWISH1 \
	VMOVAPS Z0, Z10    \
	VMULPS  Z8, Z0, Z0 \
	GATED1(108)

// func swishSingle(p *function)
TEXT ·swishSingle(SB), NOSPLIT, $0-8
	ROW(SWISH1)

// GELUTANH1 is x times the sigmoid of 2·√(2/π)·(x + 0.044715·x³).
#define GELUTANH1 \
	VMOVAPS          Z0, Z10        \
	VMULPS           Z0, Z0, Z1     \
	VBROADCASTSS     92(R9), Z2     \
	VFMADD231PS.BCST 96(R9), Z1, Z2 \
	VMULPS           Z2, Z0, Z0     \
	GATED1(112)

// func geluTanhSingle(p *function)
TEXT ·geluTanhSingle(SB), NOSPLIT, $0-8
	ROW(GELUTANH1)

// TANH1 is -e/(2+e) with the sign of x, where e is the exponential of -2·|x|, less 1,
// which does not cancel:
//
//	e = 2^n·q + (2^n - 1)
#define TANH1 \
	VPANDD       Z14, Z0, Z10      \
	ABS(Z0, Z0)                    \
	VMULPS.BCST  28(R9), Z0, Z0    \
	REDUCE(Z0, Z1, Z2)             \
	VBROADCASTSS 20(R9), Z3        \
	VSCALEFPS    Z1, Z3, Z3        \
	VSUBPS.BCST  20(R9), Z3, Z4    \
	VFMADD213PS  Z4, Z3, Z2        \
	VADDPS.BCST  24(R9), Z2, Z3    \
	INVERSE(Z3, Z0, Z1)            \
	VMULPS       Z2, Z0, Z0        \
	ABS(Z0, Z0)                    \
	VPORD        Z10, Z0, Z0

// func tanhSingle(p *function)
TEXT ·tanhSingle(SB), NOSPLIT, $0-8
	ROW(TANH1)

// GELU1 is x·Φ(x). With u = |x|, Φ(-u) is exp(-u²/2) times a polynomial in u/(4+u),
// taken from 1/4 on, where its terms hardly cancel.
#define GELU1 \
	VMOVAPS           Z0, Z10         \
	ABS(Z0, Z3)                       \
	VBROADCASTSS      104(R9), Z4     \
	VMINPS            Z3, Z4, Z3      \
	VMULPS            Z3, Z3, Z4      \
	VMULPS.BCST       36(R9), Z4, Z4  \
	VFNMADD231PS.BCST 108(R9), Z4, Z6 \
	VMULPS.BCST       32(R9), Z3, Z3  \
	VADDPS.BCST       20(R9), Z3, Z5  \
	INVERSE(Z5, Z11, Z9)              \
	VMULPS            Z3, Z11, Z11    \
	VSUBPS.BCST       32(R9), Z11, Z11 \
	VBROADCASTSS      88(R9), Z9      \
	VFMADD213PS.BCST  84(R9), Z11, Z9 \
	VFMADD213PS.BCST  80(R9), Z11, Z9 \
	VFMADD213PS.BCST  76(R9), Z11, Z9 \
	VFMADD213PS.BCST  72(R9), Z11, Z9 \
	VFMADD213PS.BCST  68(R9), Z11, Z9 \
	VFMADD213PS.BCST  64(R9), Z11, Z9 \
	VFMADD213PS.BCST  60(R9), Z11, Z9 \
	EXP(Z4, Z1, Z2)                   \
	VMULPS            Z9, Z2, Z2      \
	VPXORD            Z9, Z9, Z9      \
	VCMPPS            $13, Z9, Z10, K2 \
	VBROADCASTSS      20(R9), Z4      \
	VSUBPS            Z2, Z4, K2, Z2  \
	VMULPS            Z10, Z2, Z0

// func geluSingle(p *function)
TEXT ·geluSingle(SB), NOSPLIT, $0-8
	ROW(GELU1)
