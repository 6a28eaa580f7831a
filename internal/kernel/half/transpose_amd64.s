#include "textflag.h"

// func transposeAVX2(dst *byte, dstApart int, src *byte, srcApart, blocks int)
//
// Eight rows become eight columns: pairs of rows are interleaved by words, pairs of these
// by double words, then by quad words.
TEXT ·transposeAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ dstApart+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ srcApart+24(FP), R9
	MOVQ blocks+32(FP), CX
	LEAQ (R8)(R8*2), R10 // three rows
	LEAQ (R9)(R9*2), R11

loop:
	LEAQ    (SI)(R9*4), BX
	VMOVDQU (SI), X0
	VMOVDQU (SI)(R9*1), X1
	VMOVDQU (SI)(R9*2), X2
	VMOVDQU (SI)(R11*1), X3
	VMOVDQU (BX), X4
	VMOVDQU (BX)(R9*1), X5
	VMOVDQU (BX)(R9*2), X6
	VMOVDQU (BX)(R11*1), X7

	VPUNPCKLWD X1, X0, X8
	VPUNPCKHWD X1, X0, X9
	VPUNPCKLWD X3, X2, X10
	VPUNPCKHWD X3, X2, X11
	VPUNPCKLWD X5, X4, X12
	VPUNPCKHWD X5, X4, X13
	VPUNPCKLWD X7, X6, X14
	VPUNPCKHWD X7, X6, X15

	VPUNPCKLDQ X10, X8, X0
	VPUNPCKHDQ X10, X8, X1
	VPUNPCKLDQ X11, X9, X2
	VPUNPCKHDQ X11, X9, X3
	VPUNPCKLDQ X14, X12, X4
	VPUNPCKHDQ X14, X12, X5
	VPUNPCKLDQ X15, X13, X6
	VPUNPCKHDQ X15, X13, X7

	VPUNPCKLQDQ X4, X0, X8
	VPUNPCKHQDQ X4, X0, X9
	VPUNPCKLQDQ X5, X1, X10
	VPUNPCKHQDQ X5, X1, X11
	VPUNPCKLQDQ X6, X2, X12
	VPUNPCKHQDQ X6, X2, X13
	VPUNPCKLQDQ X7, X3, X14
	VPUNPCKHQDQ X7, X3, X15

	LEAQ    (DI)(R8*4), BX
	VMOVDQU X8, (DI)
	VMOVDQU X9, (DI)(R8*1)
	VMOVDQU X10, (DI)(R8*2)
	VMOVDQU X11, (DI)(R10*1)
	VMOVDQU X12, (BX)
	VMOVDQU X13, (BX)(R8*1)
	VMOVDQU X14, (BX)(R8*2)
	VMOVDQU X15, (BX)(R10*1)
	LEAQ    (BX)(R8*4), DI
	ADDQ    $16, SI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// ODD marks in K1 the numbers of Z0 whose exponent is 0, and in K2 those that are NaN.
//
//	Z4 the exponent's bits, which are infinity; Z5 all but the sign
#define ODD \
	VPTESTNMW Z4, Z0, K1      \
	VPANDD    Z5, Z0, Z1      \
	VPCMPUW   $6, Z4, Z1, K2

#define CONSTANTS \
	MOVL         $0x7c007c00, AX \
	VPBROADCASTD AX, Z4          \
	MOVL         $0x7fff7fff, AX \
	VPBROADCASTD AX, Z5

// func flushAVX512(dst, src *byte, blocks int)
TEXT ·flushAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
	CONSTANTS
	VPXORD Z6, Z6, Z6

loop:
	VMOVDQU16 (SI), Z0
	ODD
	VMOVDQU16 Z6, K1, Z0
	VMOVDQU16 Z4, K2, Z0
	VMOVDQU16 Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $64, DI
	DECQ      CX
	JNZ       loop
	VZEROUPPER
	RET

// func flushesAVX512(src *byte, blocks int) bool
TEXT ·flushesAVX512(SB), NOSPLIT, $0-17
	MOVQ src+0(FP), SI
	MOVQ blocks+8(FP), CX
	CONSTANTS
	KXORD K4, K4, K4

loop:
	VMOVDQU16 (SI), Z0
	ODD
	VPTESTMW  Z0, Z0, K1, K1
	KORD      K1, K2, K2
	KORD      K2, K4, K4
	ADDQ      $64, SI
	DECQ      CX
	JNZ       loop
	KMOVD K4, AX
	TESTL AX, AX
	SETNE ret+16(FP)
	VZEROUPPER
	RET

// READ makes infinity of NaN in Z0, and 0 of what is less than Z6.
//
//	Z4 infinity, Z5 the magnitude
#define READ(z, t) \
	VPANDD  Z5, z, t       \
	VCMPPS  $3, z, z, K3   \
	VCMPPS  $5, Z6, t, K2  \
	VMOVAPS.Z z, K2, z     \
	VMOVAPS Z4, K3, z

// func readAVX512(dst *float32, src *byte, n int, least float32)
TEXT ·readAVX512(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS least+24(FP), Z6
	MOVL         $0x7f800000, AX
	VPBROADCASTD AX, Z4
	MOVL         $0x7fffffff, AX
	VPBROADCASTD AX, Z5
	SUBQ         $32, CX
	JLT          rest

loop:
	VCVTPH2PS (SI), Z0
	VCVTPH2PS 32(SI), Z1
	READ(Z0, Z2)
	READ(Z1, Z3)
	VMOVUPS   Z0, (DI)
	VMOVUPS   Z1, 64(DI)
	ADDQ      $64, SI
	ADDQ      $128, DI
	SUBQ      $32, CX
	JGE       loop

rest:
	ADDQ $16, CX
	JLT  last
	VCVTPH2PS (SI), Z0
	READ(Z0, Z2)
	VMOVUPS   Z0, (DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX

last:
	ADDQ  $16, CX
	JZ    done
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	READ(Z0, Z2)
	VMOVUPS     Z0, K1, (DI)

done:
	VZEROUPPER
	RET
