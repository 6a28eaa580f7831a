// Sums and norms of rows, with AVX2, in fp64.

//go:build amd64

#include "textflag.h"
#include "four_amd64.h"

// ARGUMENTS reads a reduction: the row, its length, two numbers, in Y10 and Y11, and
// whether to round to odd.
#define ARGUMENTS \
	MOVQ         r+0(FP), DX   \
	MOVQ         0(DX), DI     \
	MOVQ         8(DX), CX     \
	VBROADCASTSD 16(DX), Y10   \
	VBROADCASTSD 24(DX), Y11   \
	MOVQ         48(DX), R8    \
	LEAQ         ·constants(SB), R9 \
	VXORPD       Y12, Y12, Y12 \
	VXORPD       Y14, Y14, Y14

// EIGHT begins a loop over eight elements at a time, of which fewer are left to FOUR.
#define EIGHT \
	SUBQ $8, CX  \
	JLT  rest    \
	             \
eight:

#define NEXTEIGHT \
	ADDQ $32, DI \
	SUBQ $8, CX  \
	JGE  eight   \
	             \
rest:            \
	ADDQ $8, CX

// NEXT ends a step of four.
#define NEXT \
	ADDQ $16, DI \
	SUBQ $4, CX  \
	JGT  loop

// TOTAL adds up the lanes of Y12 and Y14.
#define TOTAL \
	VADDPD       Y14, Y12, Y12 \
	VEXTRACTF128 $1, Y12, X1   \
	VADDPD       X1, X12, X1   \
	VPERMILPD    $1, X1, X2    \
	VADDSD       X2, X1, X1    \
	VMOVSD       X1, 56(DX)

// func sumAVX2(r *reduction)
TEXT ·sumAVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	EIGHT
	VCVTPS2PD (DI), Y0
	VCVTPS2PD 16(DI), Y1
	VADDPD    Y0, Y12, Y12
	VADDPD    Y1, Y14, Y14
	NEXTEIGHT
	FOUR
	VMASKMOVPS (DI), X13, X0
	VCVTPS2PD  X0, Y0
	VADDPD     Y0, Y12, Y12
	NEXT

done:
	TOTAL
	VZEROUPPER
	RET

// func squaresAVX2(r *reduction)
TEXT ·squaresAVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	EIGHT
	VCVTPS2PD   (DI), Y0
	VCVTPS2PD   16(DI), Y1
	VSUBPD      Y10, Y0, Y0
	VSUBPD      Y10, Y1, Y1
	VFMADD231PD Y0, Y0, Y12
	VFMADD231PD Y1, Y1, Y14
	NEXTEIGHT
	FOUR
	VMASKMOVPS  (DI), X13, X0
	VCVTPS2PD   X0, Y0
	VSUBPD      Y10, Y0, Y0
	VPMOVSXDQ   X13, Y1
	VANDPD      Y1, Y0, Y0
	VFMADD231PD Y0, Y0, Y12
	NEXT

done:
	TOTAL
	VZEROUPPER
	RET

// func normalizeAVX2(r *reduction)
TEXT ·normalizeAVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	MOVQ 32(DX), SI
	MOVQ 40(DX), BX
	FOUR
	VMASKMOVPS  (DI), X13, X0
	VMASKMOVPS  (SI), X13, X3
	VMASKMOVPS  (BX), X13, X4
	VCVTPS2PD   X0, Y0
	VCVTPS2PD   X3, Y3
	VCVTPS2PD   X4, Y4
	VSUBPD      Y10, Y0, Y0
	VMULPD      Y11, Y0, Y0
	VFMADD213PD Y4, Y3, Y0
	ROUND
	VMASKMOVPS  X1, X13, (DI)
	ADDQ        $16, SI
	ADDQ        $16, BX
	NEXT

done:
	VZEROUPPER
	RET

// func scaleAVX2(r *reduction)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	FOUR
	VMASKMOVPS (DI), X13, X0
	VCVTPS2PD  X0, Y0
	VMULPD     Y11, Y0, Y0
	ROUND
	VMASKMOVPS X1, X13, (DI)
	NEXT

done:
	VZEROUPPER
	RET

// func powersAVX2(r *reduction)
TEXT ·powersAVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	FOUR
	VMASKMOVPS (DI), X13, X0
	VCVTPS2PD  X0, Y0
	VSUBPD     Y10, Y0, Y0
	EXP(Y0, Y1, Y2, Y3)
	VCVTPD2PSY Y2, X0
	VMASKMOVPS X0, X13, (DI)
	VANDPS     X13, X0, X0
	VCVTPS2PD  X0, Y0
	VADDPD     Y0, Y12, Y12
	NEXT

done:
	TOTAL
	VZEROUPPER
	RET

// func maxOfAVX2(r *reduction)
//
// The greatest of eight lanes each, and what of them are not numbers.
TEXT ·maxOfAVX2(SB), NOSPLIT, $0-8
	MOVQ     r+0(FP), DX
	MOVQ     0(DX), DI
	MOVQ     8(DX), CX
	VPCMPEQD Y0, Y0, Y0
	VPSLLD   $23, Y0, Y0
	VMOVAPS  Y0, Y4
	VXORPS   Y3, Y3, Y3
	SUBQ     $8, CX
	JLT      rest

loop:
	VMOVUPS (DI), Y1
	VCMPPS  $3, Y1, Y1, Y2
	VORPS   Y2, Y3, Y3
	VMAXPS  Y1, Y0, Y0
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     loop

rest:
	ADDQ       $8, CX
	JZ         done
	LANES8(CX, Y15)
	VMASKMOVPS (DI), Y15, Y1
	VCMPPS     $3, Y1, Y1, Y2
	VORPS      Y2, Y3, Y3
	VBLENDVPS  Y15, Y1, Y4, Y1
	VMAXPS     Y1, Y0, Y0

done:
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0x4e, X0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xb1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVMSKPS    Y3, AX
	TESTL        AX, AX
	JZ           store
	MOVL         $0x7fc00000, AX
	VMOVD        AX, X0

store:
	VCVTSS2SD X0, X0, X0
	VMOVSD    X0, 56(DX)
	VZEROUPPER
	RET

// func squareAVX2(v *float32, n int)
//
// The square of a float is exact in fp64.
TEXT ·squareAVX2(SB), NOSPLIT, $0-16
	MOVQ v+0(FP), DI
	MOVQ n+8(FP), CX
	FOUR
	VMASKMOVPS (DI), X13, X0
	VCVTPS2PD  X0, Y0
	VMULPD     Y0, Y0, Y0
	ODD
	VMASKMOVPS X1, X13, (DI)
	NEXT

done:
	VZEROUPPER
	RET
