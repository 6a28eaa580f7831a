// The loops of attention, with AVX2: six rows of sums, two vectors each, in Y4 … Y15, or
// four at the end. Y0 and Y1 are the vectors of a step, Y2 and Y3 factors of rows.

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

#define ZERO12 \
	ZERO8                \
	VXORPS Y12, Y12, Y12 \
	VXORPS Y13, Y13, Y13 \
	VXORPS Y14, Y14, Y14 \
	VXORPS Y15, Y15, Y15

#define STEP6(f0, f1, f2, f3, f4, f5) \
	STEP(f0, f1, f2, f3)     \
	VBROADCASTSS f4, Y2      \
	VBROADCASTSS f5, Y3      \
	VFMADD231PS  Y0, Y2, Y12 \
	VFMADD231PS  Y1, Y2, Y13 \
	VFMADD231PS  Y0, Y3, Y14 \
	VFMADD231PS  Y1, Y3, Y15

// EACH adds the biases of a key, one for each position; NUMBER its only one.
#define EACH(key, s0, s1) \
	VADDPS (128*key)(SI), s0, s0    \
	VADDPS (128*key+32)(SI), s1, s1

#define NUMBER(key, s0, s1) \
	VBROADCASTSS (4*key)(SI), Y0 \
	VADDPS       Y0, s0, s0      \
	VADDPS       Y0, s1, s1

#define SCORES(key, s0, s1) \
	VMOVUPS s0, (128*key)(DI)    \
	VMOVUPS s1, (128*key+32)(DI)

#define FOURROWS(each) \
	each(0, Y4, Y5)   \
	each(1, Y6, Y7)   \
	each(2, Y8, Y9)   \
	each(3, Y10, Y11)

#define SIXROWS(each) \
	FOURROWS(each)    \
	each(4, Y12, Y13) \
	each(5, Y14, Y15)

// func scoresAVX2(c *scoresCall, lane int)
//
// 16 positions. AX are the keys of now, R13 how many are left; DI their scores, SI
// their biases. There is room for a multiple of four keys: six are taken where what is
// left then does not need more.
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
	LEAQ (R8)(R8*4), R15
	TESTQ R11, R11
	JZ   keys
	ADDQ R12, SI

keys:
	MOVQ AX, R10
	MOVQ 8(DX), BX
	ADDQ R12, BX
	MOVQ 32(DX), CX
	CMPQ R13, $12
	JGE  six
	CMPQ R13, $6
	JEQ  six
	SUBQ $9, R13
	CMPQ R13, $1 // 9 and 10
	LEAQ 9(R13), R13
	JHI  four

six:
	ZERO12

factor6:
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	STEP6((R10), (R10)(R8*1), (R10)(R8*2), (R10)(R9*1), (R10)(R8*4), (R10)(R15*1))
	ADDQ    $4, R10
	ADDQ    $128, BX
	DECQ    CX
	JNZ     factor6
	TESTQ   SI, SI
	JZ      put6
	TESTQ   R11, R11
	JZ      number6
	SIXROWS(EACH)
	ADDQ    $768, SI
	JMP     put6

number6:
	SIXROWS(NUMBER)
	ADDQ $24, SI

put6:
	SIXROWS(SCORES)
	ADDQ $768, DI
	LEAQ (AX)(R9*2), AX
	SUBQ $6, R13
	JGT  keys
	VZEROUPPER
	RET

four:
	ZERO8

factor4:
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	STEP((R10), (R10)(R8*1), (R10)(R8*2), (R10)(R9*1))
	ADDQ    $4, R10
	ADDQ    $128, BX
	DECQ    CX
	JNZ     factor4
	TESTQ   SI, SI
	JZ      put4
	TESTQ   R11, R11
	JZ      number4
	FOURROWS(EACH)
	ADDQ    $512, SI
	JMP     put4

number4:
	FOURROWS(NUMBER)
	ADDQ $16, SI

put4:
	FOURROWS(SCORES)
	ADDQ $512, DI
	LEAQ (AX)(R8*4), AX
	SUBQ $4, R13
	JGT  keys
	VZEROUPPER
	RET

// VALUES reads the arguments: AX are the powers of a key, BX its values.
#define VALUES \
	MOVQ c+0(FP), DX  \
	MOVQ 0(DX), DI    \
	MOVQ 8(DX), AX    \
	MOVQ 16(DX), BX   \
	MOVQ 24(DX), R8   \
	MOVQ 32(DX), CX   \
	MOVQ 40(DX), R11

#define DOWN(l, s0, s1) \
	VBROADCASTSS (4*l)(R11), Y2 \
	VFMADD231PS  (DI), Y2, s0   \
	VFMADD231PS  32(DI), Y2, s1 \
	VMOVUPS      s0, (DI)       \
	VMOVUPS      s1, 32(DI)     \
	ADDQ         R8, DI

// func values6AVX2(c *valuesCall)
//
// Six positions by 16 columns.
TEXT ·values6AVX2(SB), NOSPLIT, $0-8
	VALUES
	ZERO12

key:
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	STEP6((AX), 4(AX), 8(AX), 12(AX), 16(AX), 20(AX))
	ADDQ    $128, AX
	ADDQ    R8, BX
	DECQ    CX
	JNZ     key
	SIXROWS(DOWN)
	VZEROUPPER
	RET

// func values4AVX2(c *valuesCall)
TEXT ·values4AVX2(SB), NOSPLIT, $0-8
	VALUES
	ZERO8

key:
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	STEP((AX), 4(AX), 8(AX), 12(AX))
	ADDQ    $128, AX
	ADDQ    R8, BX
	DECQ    CX
	JNZ     key
	FOURROWS(DOWN)
	VZEROUPPER
	RET

DATA ·exponent+0(SB)/4, $0xc2fe0000 // -127, whose power is taken for 0
DATA ·exponent+4(SB)/4, $0x42fe0000 // 127
DATA ·exponent+8(SB)/4, $0xff800000 // -inf
GLOBL ·exponent(SB), RODATA|NOPTR, $12

// EXP2 makes of x ≤ 0 its power of 2, in p, with n: the polynomial of what is above
// the whole number n below x, times 2^n, which is n + 127 as an exponent. NaN goes
// through. Y8 … Y11, Y14 and Y15 are the polynomial, from the highest power on.
#define EXP2(x, n, p) \
	VMAXPS      x, Y12, x  \
	VROUNDPS    $9, x, n   \
	VSUBPS      n, x, x    \
	VMOVAPS     Y8, p      \
	VFMADD213PS Y9, x, p   \
	VFMADD213PS Y10, x, p  \
	VFMADD213PS Y11, x, p  \
	VFMADD213PS Y14, x, p  \
	VFMADD213PS Y15, x, p  \
	VADDPS      Y13, n, n  \
	VCVTPS2DQ   n, n       \
	VPSLLD      $23, n, n  \
	VMULPS      n, p, p

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

	VMOVAPS      Y0, Y4
	SUBQ         $2, BX
	JLT          greatest1

greatest:
	VMAXPS       (SI), Y1, Y1
	VMAXPS       128(SI), Y4, Y4
	ADDQ         $256, SI
	SUBQ         $2, BX
	JGE          greatest

greatest1:
	VMAXPS       Y4, Y1, Y1
	ADDQ         $2, BX
	JZ           found
	VMAXPS       (SI), Y1, Y1

found:
	VMOVUPS      Y1, (R8)
	LEAQ         ·exponent(SB), SI
	VBROADCASTSS (SI), Y12
	VBROADCASTSS 4(SI), Y13
	VBROADCASTSS 8(SI), Y4
	VCMPPS       $0, Y4, Y1, Y5
	VANDNPS      Y1, Y5, Y2
	LEAQ         ·exp2(SB), SI
	VBROADCASTSS 20(SI), Y8
	VBROADCASTSS 16(SI), Y9
	VBROADCASTSS 12(SI), Y10
	VBROADCASTSS 8(SI), Y11
	VBROADCASTSS 4(SI), Y14
	VBROADCASTSS (SI), Y15
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

// func putAVX2(c *putCall)
//
// The columns are a multiple of 8. Y5 has the signs, Y6 the bits of the quiet NaN, R9 the
// factors.
TEXT ·putAVX2(SB), NOSPLIT, $0-8
	MOVQ     c+0(FP), DX
	MOVQ     0(DX), R10
	MOVQ     8(DX), R11
	MOVQ     32(DX), BX
	MOVQ     48(DX), R9
	VPCMPEQD Y5, Y5, Y5
	VPSRLD   $23, Y5, Y6
	VPSLLD   $22, Y6, Y6
	VPSLLD   $31, Y5, Y5

row:
	VBROADCASTSS (R9), Y4
	MOVQ         R10, DI
	MOVQ         R11, SI
	MOVQ         40(DX), CX

eight:
	VMULPS    (SI), Y4, Y0
	VCMPPS    $3, Y0, Y0, Y1
	VANDPS    Y5, Y0, Y2
	VORPS     Y6, Y2, Y2
	VBLENDVPS Y1, Y2, Y0, Y0
	VCVTPS2PH $0, Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $16, DI
	SUBQ      $8, CX
	JNZ       eight
	ADDQ      16(DX), R10
	ADDQ      24(DX), R11
	ADDQ      $4, R9
	DECQ      BX
	JNZ       row
	VZEROUPPER
	RET

// PAIRS, QUADS and HALVES exchange the rows and columns of eight by eight floats.
#define PAIRS(a, b, lo, hi) \
	VUNPCKLPS b, a, lo \
	VUNPCKHPS b, a, hi

#define QUADS(a, b, lo, hi) \
	VUNPCKLPD b, a, lo \
	VUNPCKHPD b, a, hi

#define COLUMN(t, a, b) \
	VPERM2F128 $0x20, b, a, Y12           \
	VPERM2F128 $0x31, b, a, Y13           \
	VMULPS     Y15, Y12, Y12              \
	VMULPS     Y15, Y13, Y13              \
	VMOVUPS    Y12, (128*t)(DI)           \
	VMOVUPS    Y13, (128*t+512)(DI)

// func turnAVX2(c *turnCall, lane int)
//
// Eight rows that are all there, from a lane on: eight columns of them at a time.
TEXT ·turnAVX2(SB), NOSPLIT, $0-16
	MOVQ  c+0(FP), DX
	MOVQ  lane+8(FP), AX
	MOVQ  0(DX), DI
	LEAQ  (DI)(AX*4), DI
	MOVQ  16(DX), R8
	IMULQ R8, AX
	MOVQ  8(DX), SI
	ADDQ  AX, SI
	MOVQ  24(DX), CX
	LEAQ  (R8)(R8*2), R9
	LEAQ  (SI)(R8*4), BX
	VBROADCASTSS 40(DX), Y15

eight:
	VMOVUPS (SI), Y0
	VMOVUPS (SI)(R8*1), Y1
	VMOVUPS (SI)(R8*2), Y2
	VMOVUPS (SI)(R9*1), Y3
	VMOVUPS (BX), Y4
	VMOVUPS (BX)(R8*1), Y5
	VMOVUPS (BX)(R8*2), Y6
	VMOVUPS (BX)(R9*1), Y7
	PAIRS(Y0, Y1, Y8, Y9)
	PAIRS(Y2, Y3, Y10, Y11)
	QUADS(Y8, Y10, Y0, Y1)
	QUADS(Y9, Y11, Y2, Y3)
	PAIRS(Y4, Y5, Y8, Y9)
	PAIRS(Y6, Y7, Y10, Y11)
	QUADS(Y8, Y10, Y4, Y5)
	QUADS(Y9, Y11, Y6, Y7)
	COLUMN(0, Y0, Y4)
	COLUMN(1, Y1, Y5)
	COLUMN(2, Y2, Y6)
	COLUMN(3, Y3, Y7)
	ADDQ $32, SI
	ADDQ $32, BX
	ADDQ $1024, DI
	SUBQ $8, CX
	JG   eight
	VZEROUPPER
	RET
