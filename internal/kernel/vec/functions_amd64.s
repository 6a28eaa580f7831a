// Functions of one value, with AVX-512, in fp64: eight at a time, the rest under a
// mask. A result is rounded to fp32, or to odd, which keeps what a later rounding to
// fp16 needs.

//go:build amd64

#include "textflag.h"
#include "exp_amd64.h"

DATA ·constants+0(SB)/8, $0x3ff71547652b82fe // log2e
DATA ·constants+8(SB)/8, $0x3fe62e42fee00000 // ln2Hi
DATA ·constants+16(SB)/8, $0x3dea39ef35793c76 // ln2Lo
DATA ·constants+24(SB)/8, $0x4089000000000000 // most
DATA ·constants+32(SB)/8, $0xc089000000000000 // least
DATA ·constants+40(SB)/8, $0x3ff0000000000000 // one
DATA ·constants+48(SB)/8, $0x4000000000000000 // two
DATA ·constants+56(SB)/8, $0x3fe0000000000000 // half
DATA ·constants+64(SB)/8, $0x3fe6a09e667f3bcd // rootHalf
DATA ·constants+72(SB)/8, $0x3ff9884533d43651 // tanhGain
DATA ·constants+80(SB)/8, $0x3fa6e4e26d4801f7 // tanhCube
DATA ·constants+88(SB)/8, $0xc000000000000000 // minusTwo
DATA ·constants+96(SB)/8, $0x3fe0000000000000 // exp2
DATA ·constants+104(SB)/8, $0x3fc5555555555555 // exp3
DATA ·constants+112(SB)/8, $0x3fa5555555555555 // exp4
DATA ·constants+120(SB)/8, $0x3f81111111111111 // exp5
DATA ·constants+128(SB)/8, $0x3f56c16c16c16c17 // exp6
DATA ·constants+136(SB)/8, $0x3f2a01a01a01a01a // exp7
DATA ·constants+144(SB)/8, $0x3efa01a01a01a01a // exp8
DATA ·constants+152(SB)/8, $0x3ec71de3a556c734 // exp9
DATA ·constants+160(SB)/8, $0x3e927e4fb7789f5c // exp10
DATA ·constants+168(SB)/8, $0x3e5ae64567f544e4 // exp11
DATA ·constants+176(SB)/8, $0xbfe57f564e966bf8 // erfc0
DATA ·constants+184(SB)/8, $0x3fe5864b15189d24 // erfc1
DATA ·constants+192(SB)/8, $0x3fa83d61cf41849e // erfc2
DATA ·constants+200(SB)/8, $0xbfa802b38a22c048 // erfc3
DATA ·constants+208(SB)/8, $0xbf84382633c72820 // erfc4
DATA ·constants+216(SB)/8, $0x3f8212ce7ecbdd40 // erfc5
DATA ·constants+224(SB)/8, $0x3f5cd2e44ff08c00 // erfc6
DATA ·constants+232(SB)/8, $0xbf63378daa241c00 // erfc7
DATA ·constants+240(SB)/8, $0xbf23658a3d858000 // erfc8
DATA ·constants+248(SB)/8, $0x3f461596e3f58000 // erfc9
DATA ·constants+256(SB)/8, $0xbf1738b85f840000 // erfc10
DATA ·constants+264(SB)/8, $0xbf2703bf9f000000 // erfc11
DATA ·constants+272(SB)/8, $0x3f1057c2d0400000 // erfc12
DATA ·constants+280(SB)/8, $0x3f023055cf000000 // erfc13
DATA ·constants+288(SB)/8, $0xbef5c636b6000000 // erfc14
DATA ·constants+296(SB)/8, $0xbecf3fb520000000 // erfc15
DATA ·constants+304(SB)/8, $0x3eca845cc0000000 // erfc16
GLOBL ·constants(SB), RODATA|NOPTR, $312

// TIMES makes x·y of y, and 0 where x is infinite and y 0.
#define TIMES(x, y) \
	VPXORQ      Z9, Z9, Z9     \
	VFPCLASSPDZ $0x18, x, K2   \
	VCMPPD      $0, Z9, y, K2, K3 \
	VMULPD      x, y, y        \
	VMOVAPD     Z9, K3, y

// ROW goes through a row: step makes Z0 of Z0. Z8 has a constant of the call.
#define ROW(step) \
	MOVQ         p+0(FP), DX    \
	MOVQ         0(DX), DI      \
	MOVQ         8(DX), CX      \
	MOVQ         16(DX), R8     \
	VBROADCASTSD 24(DX), Z8     \
	LEAQ         ·constants(SB), R9 \
	EIGHT                       \
	VMOVUPS.Z    (DI), K1, Y0   \
	VCVTPS2PD    Y0, Z0         \
	step                        \
	ROUND                       \
	VMOVUPS      Y1, K1, (DI)   \
	ADDQ         $32, DI        \
	SUBQ         $8, CX         \
	JGT          loop           \
	                            \
done:                           \
	VZEROUPPER                  \
	RET

#define NEGATE(x) \
	VPXORQ Z9, Z9, Z9 \
	VSUBPD x, Z9, x

#define EXP1 \
	EXP(Z0, Z1, Z2) \
	VMOVAPD Z2, Z0

// func expAVX512(p *function)
TEXT ·expAVX512(SB), NOSPLIT, $0-8
	ROW(EXP1)

#define SIGMOID1 \
	NEGATE(Z0)          \
	SIGMOID(Z0, Z1, Z2) \
	VMOVAPD Z2, Z0

// func sigmoidAVX512(p *function)
TEXT ·sigmoidAVX512(SB), NOSPLIT, $0-8
	ROW(SIGMOID1)

// SWISH1 is x times the sigmoid of a·x.
#define SWISH1 \
	VMOVAPD Z0, Z10     \
	VMULPD  Z8, Z0, Z0  \
	NEGATE(Z0)          \
	SIGMOID(Z0, Z1, Z2) \
	TIMES(Z10, Z2)      \
	VMOVAPD Z2, Z0

// func swishAVX512(p *function)
TEXT ·swishAVX512(SB), NOSPLIT, $0-8
	ROW(SWISH1)

// GELUTANH1 is x times the sigmoid of 2·√(2/π)·(x + 0.044715·x³).
#define GELUTANH1 \
	VMOVAPD Z0, Z10     \
	VMULPD  Z0, Z0, Z1  \
	VMULPD  Z0, Z1, Z1  \
	VFMADD231PD.BCST 80(R9), Z1, Z0 \
	VMULPD.BCST 72(R9), Z0, Z0 \
	NEGATE(Z0)          \
	SIGMOID(Z0, Z1, Z2) \
	TIMES(Z10, Z2)      \
	VMOVAPD Z2, Z0

// func geluTanhAVX512(p *function)
TEXT ·geluTanhAVX512(SB), NOSPLIT, $0-8
	ROW(GELUTANH1)

// TANH1 is -e/(2+e) with the sign of x, where e is the exponential of -2·|x|, less 1,
// which does not cancel:
//
//	e = 2^n·q + (2^n - 1)
#define TANH1 \
	VMOVAPD      Z0, Z10        \
	VPSLLQ       $1, Z0, Z0     \
	VPSRLQ       $1, Z0, Z0     \
	VMULPD.BCST 88(R9), Z0, Z0 \
	REDUCE(Z0, Z1, Z2)          \
	VSCALEFPD    Z1, Z2, Z2     \
	VBROADCASTSD 40(R9), Z3 \
	VSCALEFPD Z1, Z3, Z3 \
	VSUBPD.BCST 40(R9), Z3, Z3 \
	VADDPD       Z3, Z2, Z2     \
	VADDPD.BCST 48(R9), Z2, Z3 \
	VDIVPD       Z3, Z2, Z2     \
	VPSLLQ       $1, Z2, Z2     \
	VPSRLQ       $1, Z2, Z2     \
	VPSRLQ       $63, Z10, Z10  \
	VPSLLQ       $63, Z10, Z10  \
	VPORQ        Z10, Z2, Z0

// func tanhAVX512(p *function)
TEXT ·tanhAVX512(SB), NOSPLIT, $0-8
	ROW(TANH1)

// GELU1 is x·Φ(x). With z = |x|/√2 and t = 1/(1+z/2), erfc(z) is t·exp(-z² + P(2t-1)),
// P a polynomial that is off by 10^-11; Φ is half of that below 0, and 1 less it above.
#define GELU1 \
	VMOVAPD      Z0, Z10        \
	VPSLLQ       $1, Z0, Z0     \
	VPSRLQ       $1, Z0, Z0     \
	VMULPD.BCST 64(R9), Z0, Z3 \
	VBROADCASTSD 40(R9), Z4 \
	VMOVAPD Z4, Z5 \
	VFMADD231PD.BCST 56(R9), Z3, Z5 \
	VDIVPD Z5, Z4, Z11 \
	VADDPD Z11, Z11, Z5 \
	VSUBPD Z4, Z5, Z5 \
	VBROADCASTSD 304(R9), Z6 \
	VFMADD213PD.BCST 296(R9), Z5, Z6 \
	VFMADD213PD.BCST 288(R9), Z5, Z6 \
	VFMADD213PD.BCST 280(R9), Z5, Z6 \
	VFMADD213PD.BCST 272(R9), Z5, Z6 \
	VFMADD213PD.BCST 264(R9), Z5, Z6 \
	VFMADD213PD.BCST 256(R9), Z5, Z6 \
	VFMADD213PD.BCST 248(R9), Z5, Z6 \
	VFMADD213PD.BCST 240(R9), Z5, Z6 \
	VFMADD213PD.BCST 232(R9), Z5, Z6 \
	VFMADD213PD.BCST 224(R9), Z5, Z6 \
	VFMADD213PD.BCST 216(R9), Z5, Z6 \
	VFMADD213PD.BCST 208(R9), Z5, Z6 \
	VFMADD213PD.BCST 200(R9), Z5, Z6 \
	VFMADD213PD.BCST 192(R9), Z5, Z6 \
	VFMADD213PD.BCST 184(R9), Z5, Z6 \
	VFMADD213PD.BCST 176(R9), Z5, Z6 \
	VFNMADD231PD Z3, Z3, Z6 \
	EXP(Z6, Z1, Z2) \
	VMULPD Z11, Z2, Z2 \
	VMULPD.BCST 56(R9), Z2, Z2 \
	VPXORQ Z9, Z9, Z9 \
	VCMPPD $13, Z9, Z10, K2 \
	VSUBPD Z2, Z4, K2, Z2 \
	TIMES(Z10, Z2) \
	VMOVAPD Z2, Z0

// func geluAVX512(p *function)
TEXT ·geluAVX512(SB), NOSPLIT, $0-8
	ROW(GELU1)
