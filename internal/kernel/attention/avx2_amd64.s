// The dearest loops of attention, with AVX2: four rows of sums, two vectors each, in
// Y4 … Y11. Y0 and Y1 are the vectors of a step, Y2 and Y3 factors of rows.

//go:build amd64

#include "textflag.h"

#define ZERO8 \
	VXORPS Y4, Y4, Y4    \
	VXORPS Y5, Y5, Y5    \
	VXORPS Y6, Y6, Y6    \
	VXORPS Y7, Y7, Y7    \
	VXORPS Y8, Y8, Y8    \
	VXORPS Y9, Y9, Y9    \
	VXORPS Y10, Y10, Y10 \
	VXORPS Y11, Y11, Y11

#define STEP(f0, f1, f2, f3) \
	VBROADCASTSS f0, Y2      \
	VBROADCASTSS f1, Y3      \
	VFMADD231PS  Y0, Y2, Y4  \
	VFMADD231PS  Y1, Y2, Y5  \
	VFMADD231PS  Y0, Y3, Y6  \
	VFMADD231PS  Y1, Y3, Y7  \
	VBROADCASTSS f2, Y2      \
	VBROADCASTSS f3, Y3      \
	VFMADD231PS  Y0, Y2, Y8  \
	VFMADD231PS  Y1, Y2, Y9  \
	VFMADD231PS  Y0, Y3, Y10 \
	VFMADD231PS  Y1, Y3, Y11

// func scoresAVX2(c *scoresCall, lane int)
//
// 16 positions. AX are the keys of now, R13 how many are left; DI their scores, SI
// their biases.
TEXT ·scoresAVX2(SB), NOSPLIT, $0-16
	MOVQ c+0(FP), DX
	MOVQ lane+8(FP), R12
	SHLQ $2, R12
	MOVQ 0(DX), DI
	ADDQ R12, DI
	MOVQ 16(DX), AX
	MOVQ 24(DX), R8
	MOVQ 40(DX), R13
	MOVQ 48(DX), SI
	MOVQ 56(DX), R11
	LEAQ (R8)(R8*2), R9
	TESTQ R11, R11
	JZ   keys
	ADDQ R12, SI

keys:
	ZERO8
	MOVQ AX, R10
	MOVQ 8(DX), BX
	ADDQ R12, BX
	MOVQ 32(DX), CX

factor:
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	STEP((R10), (R10)(R8*1), (R10)(R8*2), (R10)(R9*1))
	ADDQ    $4, R10
	ADDQ    $128, BX
	DECQ    CX
	JNZ     factor
	TESTQ   SI, SI
	JZ      put
	TESTQ   R11, R11
	JZ      number
	VADDPS  (SI), Y4, Y4
	VADDPS  32(SI), Y5, Y5
	VADDPS  128(SI), Y6, Y6
	VADDPS  160(SI), Y7, Y7
	VADDPS  256(SI), Y8, Y8
	VADDPS  288(SI), Y9, Y9
	VADDPS  384(SI), Y10, Y10
	VADDPS  416(SI), Y11, Y11
	ADDQ    $512, SI
	JMP     put

number:
	VBROADCASTSS (SI), Y0
	VBROADCASTSS 4(SI), Y1
	VBROADCASTSS 8(SI), Y2
	VBROADCASTSS 12(SI), Y3
	VADDPS       Y0, Y4, Y4
	VADDPS       Y0, Y5, Y5
	VADDPS       Y1, Y6, Y6
	VADDPS       Y1, Y7, Y7
	VADDPS       Y2, Y8, Y8
	VADDPS       Y2, Y9, Y9
	VADDPS       Y3, Y10, Y10
	VADDPS       Y3, Y11, Y11
	ADDQ         $16, SI

put:
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 128(DI)
	VMOVUPS Y7, 160(DI)
	VMOVUPS Y8, 256(DI)
	VMOVUPS Y9, 288(DI)
	VMOVUPS Y10, 384(DI)
	VMOVUPS Y11, 416(DI)
	ADDQ    $512, DI
	LEAQ    (AX)(R8*4), AX
	SUBQ    $4, R13
	JGT     keys
	VZEROUPPER
	RET

// func valuesAVX2(c *valuesCall)
//
// Four positions by 16 columns. AX are the powers of a key, BX its values.
TEXT ·valuesAVX2(SB), NOSPLIT, $0-8
	MOVQ c+0(FP), DX
	MOVQ 0(DX), DI
	MOVQ 8(DX), AX
	MOVQ 16(DX), BX
	MOVQ 24(DX), R8
	MOVQ 32(DX), CX
	MOVQ 40(DX), R11
	ZERO8

key:
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	STEP((AX), 4(AX), 8(AX), 12(AX))
	ADDQ    $128, AX
	ADDQ    R8, BX
	DECQ    CX
	JNZ     key

#define DOWN(l, s0, s1) \
	VBROADCASTSS (4*l)(R11), Y2 \
	VFMADD231PS  (DI), Y2, s0   \
	VFMADD231PS  32(DI), Y2, s1 \
	VMOVUPS      s0, (DI)       \
	VMOVUPS      s1, 32(DI)     \
	ADDQ         R8, DI

	DOWN(0, Y4, Y5)
	DOWN(1, Y6, Y7)
	DOWN(2, Y8, Y9)
	DOWN(3, Y10, Y11)
	VZEROUPPER
	RET

DATA ·exponent+0(SB)/4, $0xc2fe0000 // -127, whose power is taken for 0
DATA ·exponent+4(SB)/4, $0x42fe0000 // 127
DATA ·exponent+8(SB)/4, $0xff800000 // -inf
GLOBL ·exponent(SB), RODATA|NOPTR, $12

// EXP2 makes of x ≤ 0 its power of 2, in p, with n: the polynomial of what is above
// the whole number n below x, times 2^n, which is n + 127 as an exponent. NaN goes
// through.
#define EXP2(x, n, p) \
	VMAXPS       x, Y12, x    \
	VROUNDPS     $9, x, n     \
	VSUBPS       n, x, x      \
	VBROADCASTSS 20(SI), p    \
	VBROADCASTSS 16(SI), Y14  \
	VFMADD213PS  Y14, x, p    \
	VBROADCASTSS 12(SI), Y14  \
	VFMADD213PS  Y14, x, p    \
	VBROADCASTSS 8(SI), Y14   \
	VFMADD213PS  Y14, x, p    \
	VBROADCASTSS 4(SI), Y14   \
	VFMADD213PS  Y14, x, p    \
	VBROADCASTSS (SI), Y14    \
	VFMADD213PS  Y14, x, p    \
	VADDPS       Y13, n, n    \
	VCVTPS2DQ    n, n         \
	VPSLLD       $23, n, n    \
	VMULPS       n, p, p

// func powersAVX2(c *powersCall)
//
// 8 positions: Y0 is the greatest score before, Y1 the greatest, Y2 what scores are
// relative to, Y3 the sum, Y7 the sum of before.
TEXT ·powersAVX2(SB), NOSPLIT, $0-8
	MOVQ         c+0(FP), DX
	MOVQ         0(DX), DI
	MOVQ         8(DX), CX
	MOVQ         16(DX), R8
	MOVQ         24(DX), R9
	MOVQ         32(DX), R10
	VMOVUPS      (R8), Y0
	VMOVAPS      Y0, Y1
	MOVQ         DI, SI
	MOVQ         CX, BX

greatest:
	VMAXPS       (SI), Y1, Y1
	ADDQ         $128, SI
	DECQ         BX
	JNZ          greatest
	VMOVUPS      Y1, (R8)
	LEAQ         ·exponent(SB), SI
	VBROADCASTSS (SI), Y12
	VBROADCASTSS 4(SI), Y13
	VBROADCASTSS 8(SI), Y4
	VCMPPS       $0, Y4, Y1, Y5
	VANDNPS      Y1, Y5, Y2
	LEAQ         ·exp2(SB), SI
	VSUBPS       Y2, Y0, Y4
	EXP2(Y4, Y5, Y6)
	VMOVUPS      Y6, (R10)
	VMULPS       (R9), Y6, Y7
	VXORPS       Y3, Y3, Y3

power:
	VMOVUPS (DI), Y4
	VSUBPS  Y2, Y4, Y4
	EXP2(Y4, Y5, Y6)
	VMOVUPS Y6, (DI)
	VADDPS  Y6, Y3, Y3
	ADDQ    $128, DI
	DECQ    CX
	JNZ     power
	VADDPS  Y3, Y7, Y7
	VMOVUPS Y7, (R9)
	VZEROUPPER
	RET
