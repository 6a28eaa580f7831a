//go:build amd64

#include "textflag.h"

// CURVE has the numbers of a curve, DX, in registers; DI and CX are the elements.
//
//	Z16, Z17 knots, Z18, Z19 rises, Z20 low, Z21 high, Z22 at low, Z23 at high
//	Z24 knots per unit, Z25, Z26 the left tail, Z27, Z28 the right one
//	Z31 the number of the last line
#define CURVE \
	MOVQ c+0(FP), DX         \
	MOVQ v+8(FP), DI         \
	MOVQ n+16(FP), CX        \
	VMOVUPS      0(DX), Z16  \
	VMOVUPS      64(DX), Z17 \
	VMOVUPS      128(DX), Z18 \
	VMOVUPS      192(DX), Z19 \
	VBROADCASTSS 256(DX), Z20 \
	VBROADCASTSS 260(DX), Z21 \
	VBROADCASTSS 264(DX), Z22 \
	VBROADCASTSS 268(DX), Z23 \
	VBROADCASTSS 272(DX), Z24 \
	VBROADCASTSS 276(DX), Z25 \
	VBROADCASTSS 280(DX), Z26 \
	VBROADCASTSS 284(DX), Z27 \
	VBROADCASTSS 288(DX), Z28 \
	MOVL         $31, AX      \
	VPBROADCASTD AX, Z31

// AT is the lines at the positions Z1, in Z4.
#define AT \
	VCVTTPS2DQ Z1, Z2       \
	VPMINSD    Z31, Z2, Z2  \
	VCVTDQ2PS  Z2, Z3       \
	VSUBPS     Z3, Z1, Z3   \
	VMOVDQA32  Z2, Z4       \
	VPERMI2PS  Z17, Z16, Z4 \
	VPERMI2PS  Z19, Z18, Z2 \
	VMULPS     Z3, Z2, Z2   \
	VADDPS     Z2, Z4, Z4

// LIMITS puts into Z4 what numbers Z0 at the limits, and NaN, become.
#define LIMITS \
	VCMPPS  $3, Z0, Z0, K2   \
	VMOVAPS Z0, K2, Z4       \
	VCMPPS  $13, Z21, Z0, K2 \
	VMOVAPS Z23, K2, Z4      \
	VCMPPS  $2, Z20, Z0, K2  \
	VMOVAPS Z22, K2, Z4

// LINES is the curve at Z0, in Z4. Z15 is 0, Z29 the position of 0, Z30 the last.
#define LINES \
	VMULPS  Z24, Z0, Z1      \
	VADDPS  Z29, Z1, Z1      \
	AT                       \
	VMULPS  Z25, Z0, Z5      \
	VADDPS  Z26, Z5, Z5      \
	VCMPPS  $1, Z15, Z1, K2  \
	VMOVAPS Z5, K2, Z4       \
	VMULPS  Z27, Z0, Z5      \
	VADDPS  Z28, Z5, Z5      \
	VCMPPS  $14, Z30, Z1, K2 \
	VMOVAPS Z5, K2, Z4       \
	LIMITS

// POWERS is the curve at Z0 as powers, in Z4.
#define POWERS \
	VRNDSCALEPS $9, Z0, Z6  \
	VSUBPS      Z6, Z0, Z1  \
	VMULPS      Z24, Z1, Z1 \
	AT                      \
	VSCALEFPS   Z6, Z4, Z4  \
	LIMITS

// REST makes the mask K1 of the CX lanes that are left, fewer than 16, and goes on
// at done if there are none.
#define REST \
	TESTQ CX, CX  \
	JZ    done    \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K1

// func curveLinesAVX512(c *Curve, v *float32, n int)
TEXT ·curveLinesAVX512(SB), NOSPLIT, $0-24
	CURVE
	VPXORD       Z15, Z15, Z15
	MOVL         $0x41800000, AX // 16
	VPBROADCASTD AX, Z29
	MOVL         $0x42000000, AX // 32
	VPBROADCASTD AX, Z30
	SUBQ $16, CX
	JLT  rest

loop:
	VMOVUPS (DI), Z0
	LINES
	VMOVUPS Z4, (DI)
	ADDQ    $64, DI
	SUBQ    $16, CX
	JGE     loop

rest:
	ADDQ $16, CX
	REST
	VMOVUPS.Z (DI), K1, Z0
	LINES
	VMOVUPS   Z4, K1, (DI)

done:
	VZEROUPPER
	RET

// func curvePowersAVX512(c *Curve, v *float32, n int)
TEXT ·curvePowersAVX512(SB), NOSPLIT, $0-24
	CURVE
	SUBQ $16, CX
	JLT  rest

loop:
	VMOVUPS (DI), Z0
	POWERS
	VMOVUPS Z4, (DI)
	ADDQ    $64, DI
	SUBQ    $16, CX
	JGE     loop

rest:
	ADDQ $16, CX
	REST
	VMOVUPS.Z (DI), K1, Z0
	POWERS
	VMOVUPS   Z4, K1, (DI)

done:
	VZEROUPPER
	RET
