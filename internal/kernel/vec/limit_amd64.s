//go:build amd64

#include "textflag.h"

// REST makes the mask K1 of the CX lanes that are left, fewer than 16, and goes on
// at done if there are none.
#define REST \
	TESTQ CX, CX  \
	JZ    done    \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K1

// LIMIT changes the numbers in Z0.
//
//	Z4 the least, Z5 the most, Z6 what NaN becomes, Z7 the magnitude, Z8 infinity
//	Z9 the sign
#define LIMIT \
	VPANDD  Z7, Z0, Z1        \
	VCMPPS  $13, Z5, Z1, K3   \
	VCMPPS  $3, Z0, Z0, K4    \
	VCMPPS  $5, Z4, Z1, K2    \
	VPANDD  Z9, Z0, Z2        \
	VPORD   Z8, Z2, Z2        \
	VMOVAPS.Z Z0, K2, Z0      \
	VMOVAPS Z2, K3, Z0        \
	VMOVAPS Z6, K4, Z0

// func limitAVX512(l *Limits, v *float32, n int)
TEXT ·limitAVX512(SB), NOSPLIT, $0-24
	MOVQ l+0(FP), DX
	MOVQ v+8(FP), DI
	MOVQ n+16(FP), CX
	VBROADCASTSS 0(DX), Z4
	VBROADCASTSS 4(DX), Z5
	VBROADCASTSS 8(DX), Z6
	MOVL         $0x7fffffff, AX
	VPBROADCASTD AX, Z7
	MOVL         $0x7f800000, AX
	VPBROADCASTD AX, Z8
	MOVL         $0x80000000, AX
	VPBROADCASTD AX, Z9
	SUBQ $16, CX
	JLT  rest

loop:
	VMOVUPS (DI), Z0
	LIMIT
	VMOVUPS Z0, (DI)
	ADDQ    $64, DI
	SUBQ    $16, CX
	JGE     loop

rest:
	ADDQ $16, CX
	REST
	VMOVUPS.Z (DI), K1, Z0
	LIMIT
	VMOVUPS   Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// func hasNaNAVX512(v *float32, n int) bool
TEXT ·hasNaNAVX512(SB), NOSPLIT, $0-17
	MOVQ  v+0(FP), DI
	MOVQ  n+8(FP), CX
	KXORW K2, K2, K2
	SUBQ  $16, CX
	JLT   rest

loop:
	VMOVUPS (DI), Z0
	VCMPPS  $3, Z0, Z0, K3
	KORW    K3, K2, K2
	ADDQ    $64, DI
	SUBQ    $16, CX
	JGE     loop

rest:
	ADDQ $16, CX
	REST
	VMOVUPS.Z (DI), K1, Z0
	VCMPPS    $3, Z0, Z0, K3
	KORW      K3, K2, K2

done:
	KMOVW K2, AX
	TESTL AX, AX
	SETNE ret+16(FP)
	VZEROUPPER
	RET

// func greatestAVX512(v *float32, n int) float32
//
// Magnitudes are compared as integers, of which those of NaN are greater than all.
TEXT ·greatestAVX512(SB), NOSPLIT, $0-20
	MOVQ         v+0(FP), DI
	MOVQ         n+8(FP), CX
	MOVL         $0x7fffffff, AX
	VPBROADCASTD AX, Z7
	VPXORD       Z2, Z2, Z2
	SUBQ         $16, CX
	JLT          rest

loop:
	VPANDD  (DI), Z7, Z0
	VPMAXUD Z0, Z2, Z2
	ADDQ    $64, DI
	SUBQ    $16, CX
	JGE     loop

rest:
	ADDQ $16, CX
	REST
	VMOVUPS.Z (DI), K1, Z0
	VPANDD    Z7, Z0, Z0
	VPMAXUD   Z0, Z2, Z2

done:
	VEXTRACTI64X4 $1, Z2, Y0
	VPMAXUD       Y0, Y2, Y2
	VEXTRACTI128  $1, Y2, X0
	VPMAXUD       X0, X2, X2
	VPSHUFD       $0x4e, X2, X0
	VPMAXUD       X0, X2, X2
	VPSHUFD       $0xb1, X2, X0
	VPMAXUD       X0, X2, X2
	VMOVSS        X2, ret+16(FP)
	VZEROUPPER
	RET
