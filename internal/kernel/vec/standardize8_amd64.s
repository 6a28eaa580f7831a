// Layer normalization of rows of fp16 numbers, with AVX2: as with AVX-512, eight
// elements at a time. Those after the last eight are in the arguments, filled up with
// 0, and so are their results: such rows come one by one.

//go:build amd64

#include "textflag.h"
#include "lanes_amd64.h"

// WIDE makes of the eight floats in Y0 doubles, in Y0 and Y1.
#define WIDE \
	VEXTRACTF128 $1, Y0, X1 \
	VCVTPS2PD    X0, Y0     \
	VCVTPS2PD    X1, Y1

// TOTAL adds up the lanes of Y12 to Y15, in X0.
#define TOTAL \
	VADDPD       Y13, Y12, Y12 \
	VADDPD       Y15, Y14, Y14 \
	VADDPD       Y14, Y12, Y12 \
	VEXTRACTF128 $1, Y12, X1   \
	VADDPD       X1, X12, X1   \
	VPERMILPD    $1, X1, X2    \
	VADDSD       X2, X1, X0

#define ZERO4 \
	VXORPD Y12, Y12, Y12 \
	VXORPD Y13, Y13, Y13 \
	VXORPD Y14, Y14, Y14 \
	VXORPD Y15, Y15, Y15

// APART makes of the floats in Y0 their distances to the mean, which is Y8 + Y9.
#define APART \
	VSUBPS Y8, Y0, Y0 \
	VSUBPS Y9, Y0, Y0

// FINISH makes the result of the distances in Y0, gamma in Y3 and beta in Y4. A NaN is
// the quiet one, with its sign: Y6 and Y7 are as those of AVX-512.
#define FINISH \
	VMULPS      Y10, Y0, Y0    \
	VFMADD213PS Y4, Y3, Y0     \
	VCMPPS      $3, Y0, Y0, Y2 \
	VANDPS      Y6, Y0, Y1     \
	VORPS       Y7, Y1, Y1     \
	VBLENDVPS   Y2, Y1, Y0, Y0

// func standardizeAVX2(s *standardization)
//
// R8 is how many eight there are, Y5 the elements after them.
TEXT ·standardizeAVX2(SB), NOSPLIT, $0-8
	MOVQ s+0(FP), DX
	MOVQ 32(DX), CX
	MOVQ CX, R8
	SHRQ $3, R8
	ANDQ $7, CX
	LANES8(CX, Y5)
	VPCMPEQD Y6, Y6, Y6
	VPSRLD   $23, Y6, Y7
	VPSLLD   $22, Y7, Y7
	VPSLLD   $31, Y6, Y6
	MOVQ     8(DX), R11
	MOVQ     0(DX), R12
	MOVQ     88(DX), R13

row:
	ZERO4
	MOVQ  R11, SI
	MOVQ  R8, BX
	TESTQ BX, BX
	JZ    sumRest

sum:
	VCVTPH2PS (SI), Y0
	WIDE
	VADDPD    Y0, Y12, Y12
	VADDPD    Y1, Y13, Y13
	ADDQ      $16, SI
	DECQ      BX
	JNZ       sum

sumRest:
	TESTQ        CX, CX
	JZ           sumDone
	VCVTPH2PS    56(DX), Y0
	WIDE
	VADDPD       Y0, Y14, Y14
	VADDPD       Y1, Y15, Y15

sumDone:
	TOTAL
	VMULSD       40(DX), X0, X0
	VCVTSD2SS    X0, X0, X8
	VCVTSS2SD    X8, X8, X1
	VSUBSD       X1, X0, X0
	VCVTSD2SS    X0, X0, X9
	VBROADCASTSS X8, Y8
	VBROADCASTSS X9, Y9

	ZERO4
	MOVQ  R11, SI
	MOVQ  R8, BX
	TESTQ BX, BX
	JZ    squareRest

square:
	VCVTPH2PS   (SI), Y0
	APART
	WIDE
	VFMADD231PD Y0, Y0, Y12
	VFMADD231PD Y1, Y1, Y13
	ADDQ        $16, SI
	DECQ        BX
	JNZ         square

squareRest:
	TESTQ        CX, CX
	JZ           squareDone
	VCVTPH2PS    56(DX), Y0
	APART
	VANDPS       Y5, Y0, Y0
	WIDE
	VFMADD231PD  Y0, Y0, Y14
	VFMADD231PD  Y1, Y1, Y15

squareDone:
	TOTAL
	VMULSD       40(DX), X0, X0
	VADDSD       48(DX), X0, X0
	VSQRTSD      X0, X0, X0
	MOVQ         $0x3ff0000000000000, AX
	VMOVQ        AX, X1
	VDIVSD       X0, X1, X0
	VCVTSD2SS    X0, X0, X10
	VBROADCASTSS X10, Y10

	MOVQ  R11, SI
	MOVQ  R12, DI
	MOVQ  16(DX), R9
	MOVQ  24(DX), R10
	MOVQ  R8, BX
	TESTQ BX, BX
	JZ    putRest

put:
	VCVTPH2PS (SI), Y0
	VMOVUPS   (R9), Y3
	VMOVUPS   (R10), Y4
	APART
	FINISH
	VCVTPS2PH $0, Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $16, DI
	ADDQ      $32, R9
	ADDQ      $32, R10
	DECQ      BX
	JNZ       put

putRest:
	TESTQ      CX, CX
	JZ         putDone
	VCVTPH2PS  56(DX), Y0
	VMASKMOVPS (R9), Y5, Y3
	VMASKMOVPS (R10), Y5, Y4
	APART
	FINISH
	VCVTPS2PH  $0, Y0, 56(DX)

putDone:
	ADDQ       80(DX), R11
	ADDQ       72(DX), R12
	DECQ       R13
	JNZ        row
	VZEROUPPER
	RET
