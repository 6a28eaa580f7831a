// Layer normalization of rows of fp16 numbers, with AVX-512.

//go:build amd64

#include "textflag.h"

// WIDE makes of the sixteen floats in Z0 doubles, in Z0 and Z1.
#define WIDE \
	VEXTRACTF64X4 $1, Z0, Y1 \
	VCVTPS2PD     Y0, Z0     \
	VCVTPS2PD     Y1, Z1

// TOTAL adds up the lanes of Z12 to Z15, in X0.
#define TOTAL \
	VADDPD        Z13, Z12, Z12 \
	VADDPD        Z15, Z14, Z14 \
	VADDPD        Z14, Z12, Z12 \
	VEXTRACTF64X4 $1, Z12, Y1   \
	VADDPD        Y1, Y12, Y1   \
	VEXTRACTF64X2 $1, Y1, X2    \
	VADDPD        X2, X1, X1    \
	VPERMILPD     $1, X1, X2    \
	VADDSD        X2, X1, X0

#define ZERO4 \
	VPXORQ Z12, Z12, Z12 \
	VPXORQ Z13, Z13, Z13 \
	VPXORQ Z14, Z14, Z14 \
	VPXORQ Z15, Z15, Z15

// APART makes of the floats in Z0 their distances to the mean, which is Z8 + Z9.
#define APART \
	VSUBPS Z8, Z0, Z0 \
	VSUBPS Z9, Z0, Z0

// func standardizeAVX512(s *standardization)
//
// Three times over each row: its sum, the sum of the squares of the distances to the
// mean, the result. K1 are the CX elements after the last sixteen, of which there are
// R8·16. A short row is mostly waiting for its root and its quotient: with all rows in
// one call the processor begins with the next meanwhile, which halves the time of 64.
TEXT ·standardizeAVX512(SB), NOSPLIT, $0-8
	MOVQ  s+0(FP), DX
	MOVQ  32(DX), CX
	MOVQ  CX, R8
	SHRQ  $4, R8
	ANDQ  $15, CX
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1

	MOVL  $0x80000000, AX
	VPBROADCASTD AX, Z6
	MOVL  $0x7fc00000, AX
	VPBROADCASTD AX, Z7
	MOVQ  $0x3ff0000000000000, AX
	VMOVQ AX, X11
	MOVQ  8(DX), R11
	MOVQ  0(DX), R12
	MOVQ  88(DX), R13

row:
	ZERO4
	MOVQ  R11, SI
	MOVQ  R8, BX
	TESTQ BX, BX
	JZ    sumRest

sum:
	VCVTPH2PS (SI), Z0
	WIDE
	VADDPD    Z0, Z12, Z12
	VADDPD    Z1, Z13, Z13
	ADDQ      $32, SI
	DECQ      BX
	JNZ       sum

sumRest:
	TESTQ       CX, CX
	JZ          sumDone
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	WIDE
	VADDPD      Z0, Z14, Z14
	VADDPD      Z1, Z15, Z15

sumDone:
	TOTAL
	VMULSD      40(DX), X0, X0
	VCVTSD2SS   X0, X0, X8
	VCVTSS2SD   X8, X8, X1
	VSUBSD      X1, X0, X0
	VCVTSD2SS   X0, X0, X9
	VBROADCASTSS X8, Z8
	VBROADCASTSS X9, Z9

	ZERO4
	MOVQ  R11, SI
	MOVQ  R8, BX
	TESTQ BX, BX
	JZ    squareRest

square:
	VCVTPH2PS   (SI), Z0
	APART
	WIDE
	VFMADD231PD Z0, Z0, Z12
	VFMADD231PD Z1, Z1, Z13
	ADDQ        $32, SI
	DECQ        BX
	JNZ         square

squareRest:
	TESTQ       CX, CX
	JZ          squareDone
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	APART
	VMOVAPS.Z   Z0, K1, Z0
	WIDE
	VFMADD231PD Z0, Z0, Z14
	VFMADD231PD Z1, Z1, Z15

squareDone:
	TOTAL
	VMULSD      40(DX), X0, X0
	VADDSD      48(DX), X0, X0
	VSQRTSD     X0, X0, X0
	VDIVSD      X0, X11, X0
	VCVTSD2SS   X0, X0, X10
	VBROADCASTSS X10, Z10

	MOVQ  R11, SI
	MOVQ  R12, DI
	MOVQ  16(DX), R9
	MOVQ  24(DX), R10
	MOVQ  R8, BX
	TESTQ BX, BX
	JZ    putRest

put:
	VCVTPH2PS   (SI), Z0
	VMOVUPS     (R9), Z3
	VMOVUPS     (R10), Z4
	APART
	VMULPS      Z10, Z0, Z0
	VFMADD213PS Z4, Z3, Z0
	VCMPPS      $3, Z0, Z0, K2
	VPANDD      Z6, Z0, Z1
	VPORD       Z7, Z1, K2, Z0
	VCVTPS2PH   $0, Z0, (DI)
	ADDQ        $32, SI
	ADDQ        $32, DI
	ADDQ        $64, R9
	ADDQ        $64, R10
	DECQ        BX
	JNZ         put

putRest:
	TESTQ       CX, CX
	JZ          putDone
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	VMOVUPS.Z   (R9), K1, Z3
	VMOVUPS.Z   (R10), K1, Z4
	APART
	VMULPS      Z10, Z0, Z0
	VFMADD213PS Z4, Z3, Z0
	VCMPPS      $3, Z0, Z0, K2
	VPANDD      Z6, Z0, Z1
	VPORD       Z7, Z1, K2, Z0
	VCVTPS2PH   $0, Z0, Y0
	VMOVDQU16   Y0, K1, (DI)

putDone:
	ADDQ        80(DX), R11
	ADDQ        72(DX), R12
	DECQ        R13
	JNZ         row
	VZEROUPPER
	RET
