//go:build amd64

#include "textflag.h"

// A pass of a planar engine, 16 elements at a time.
//
//	Z4 what NaN becomes, Z5 the sign of a, Z6 the sign of b, Z7 Pre, Z8 Bias, Z9 the lower bound
//	Z10 makes 0 of -0, Z11 the scale of the row, Z12 b of the row
//	K1 the lanes of the last elements of a row, K5 the results that are NaN

// FIRST makes ±a·Pre of the numbers in Z0, FIRSTB ±b of those in Z1.
#define FIRST \
	VCMPPS  $3, Z0, Z0, K3 \
	VMOVAPS Z4, K3, Z0     \
	VMULPS  Z7, Z0, Z0     \
	VPXORD  Z5, Z0, Z0

#define FIRSTB \
	VCMPPS  $3, Z1, Z1, K3 \
	VMOVAPS Z4, K3, Z1     \
	VPXORD  Z6, Z1, Z1

// LAST is what follows the operator.
#define LAST \
	VMULPS Z11, Z0, Z0     \
	VADDPS Z8, Z0, Z0      \
	VMAXPS Z0, Z9, Z0      \
	VADDPS Z10, Z0, Z0     \
	VCMPPS $3, Z0, Z0, K3  \
	KORW   K3, K5, K5

// func planarAVX512(p *planarStep)
//
//	SI a, BX b, DI the result, CX the elements left in a row, R15 the rows left
TEXT ·planarAVX512(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DX
	MOVQ 0(DX), R8
	MOVQ 16(DX), R9
	MOVQ 32(DX), R10
	MOVQ 40(DX), R11
	MOVQ 64(DX), R15
	MOVQ 80(DX), DI
	MOVQ 96(DX), R12
	VBROADCASTSS 128(DX), Z4
	VPBROADCASTD 104(DX), Z5
	VPBROADCASTD 108(DX), Z6
	VBROADCASTSS 112(DX), Z7
	VBROADCASTSS 116(DX), Z8
	VBROADCASTSS 120(DX), Z9
	VBROADCASTSS 124(DX), Z10
	KXORW K5, K5, K5
	MOVQ  72(DX), CX
	DECQ  CX
	ANDQ  $15, CX
	INCQ  CX
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1

row:
	MOVQ R8, SI
	MOVQ R9, BX
	MOVQ 72(DX), CX
	VBROADCASTSS (R11), Z11
	MOVL  $0xffff, AX
	KMOVW AX, K2
	TESTQ R10, R10
	JZ    loop
	VBROADCASTSS (R10), Z1
	FIRSTB
	VMOVAPS Z1, Z12

loop:
	CMPQ CX, $16
	JG   whole
	KMOVW K1, K2

whole:
	VMOVDQU16.Z (SI), K2, Y0
	VCVTPH2PS   Y0, Z0
	FIRST
	VMOVAPS     Z12, Z1
	TESTQ       R10, R10
	JNZ         operate
	VMOVDQU16.Z (BX), K2, Y1
	VCVTPH2PS   Y1, Z1
	FIRSTB
	ADDQ        $32, BX

operate:
	CMPQ R12, $1
	JE   sum
	CMPQ R12, $2
	JE   product
	CMPQ R12, $3
	JE   square
	CMPQ R12, $4
	JE   squareSum
	JMP  end

sum:
	VADDPS Z1, Z0, Z0
	JMP    end

product:
	VMULPS Z1, Z0, Z0
	JMP    end

squareSum:
	VADDPS Z1, Z0, Z0

square:
	VMULPS Z0, Z0, Z0

end:
	LAST
	CMPQ      88(DX), $2
	JNE       floats

	VCVTPS2PH $0, Z0, Y0
	VMOVDQU16 Y0, K2, (DI)
	ADDQ      $32, DI
	JMP       next

floats:
	VMOVUPS Z0, K2, (DI)
	ADDQ    $64, DI

next:
	ADDQ $32, SI
	SUBQ $16, CX
	JG   loop

	// CX is what the last step had too few of, not more than 0.
	MOVQ  88(DX), AX
	IMULQ AX, CX
	ADDQ  CX, DI
	ADDQ  8(DX), R8
	ADDQ  24(DX), R9
	TESTQ R10, R10
	JZ    rows
	ADDQ  56(DX), R10

rows:
	ADDQ 48(DX), R11
	DECQ R15
	JNZ  row
	KMOVW K5, AX
	MOVL  AX, 132(DX)
	VZEROUPPER
	RET
