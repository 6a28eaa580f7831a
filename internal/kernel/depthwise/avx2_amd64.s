// Three rows of three taps, with AVX2: eight places of a row at a time, the last
// under a mask.

//go:build amd64

#include "textflag.h"

// TAP adds a product: w·x, rounded, then the sum.
#define TAP(x, w) \
	VMULPS x, w, Y1  \
	VADDPS Y1, Y0, Y0

// PART is TAP of the last places of a row, of which Y6 is the mask.
#define PART(x, w) \
	VMASKMOVPS x, Y6, Y1 \
	VMULPS     Y1, w, Y1 \
	VADDPS     Y1, Y0, Y0

#define GRID(tap) \
	VXORPS Y0, Y0, Y0     \
	tap((SI), Y7)         \
	tap((SI)(R10*1), Y8)  \
	tap((SI)(R11*1), Y9)  \
	LEAQ (SI)(R8*1), AX   \
	tap((AX), Y10)        \
	tap((AX)(R10*1), Y11) \
	tap((AX)(R11*1), Y12) \
	LEAQ (SI)(R9*1), AX   \
	tap((AX), Y13)        \
	tap((AX)(R10*1), Y14) \
	tap((AX)(R11*1), Y15) \
	VADDPS Y2, Y0, Y0     \
	VMAXPS Y0, Y3, Y0     \
	VADDPS Y5, Y0, Y0     \
	VMINPS Y0, Y4, Y0

DATA lanes<>+0(SB)/8, $0x0000000100000000
DATA lanes<>+8(SB)/8, $0x0000000300000002
DATA lanes<>+16(SB)/8, $0x0000000500000004
DATA lanes<>+24(SB)/8, $0x0000000700000006
GLOBL lanes<>(SB), RODATA|NOPTR, $32

// func gridAVX2(a *tapping)
//
// Registers as in gridAVX512; Y2 bias, Y3 lo, Y4 hi, Y5 zero, Y6 the mask of the last
// 1 to 7 places, Y7 to Y15 weights.
TEXT ·gridAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DX
	MOVQ 0x48(DX), R8
	MOVQ 0x50(DX), R9
	MOVQ 0x58(DX), R10
	MOVQ 0x60(DX), R11
	MOVQ 0x30(DX), AX
	VBROADCASTSS 0(AX), Y7
	VBROADCASTSS 4(AX), Y8
	VBROADCASTSS 8(AX), Y9
	VBROADCASTSS 12(AX), Y10
	VBROADCASTSS 16(AX), Y11
	VBROADCASTSS 20(AX), Y12
	VBROADCASTSS 24(AX), Y13
	VBROADCASTSS 28(AX), Y14
	VBROADCASTSS 32(AX), Y15
	VBROADCASTSS 0x68(DX), Y2
	VBROADCASTSS 0x6c(DX), Y3
	VBROADCASTSS 0x70(DX), Y4
	VBROADCASTSS 0x74(DX), Y5
	MOVQ 0x18(DX), R12
	MOVQ R12, AX
	ANDQ $7, AX
	MOVQ AX, X6
	VPBROADCASTD X6, Y6
	VPCMPGTD lanes<>(SB), Y6, Y6
	MOVQ 0x00(DX), BX
	MOVQ 0x08(DX), R13
	MOVQ 0x10(DX), R15

row:
	MOVQ R13, SI
	MOVQ BX, DI
	MOVQ R12, CX
	SUBQ $8, CX
	JLT  last

vector:
	GRID(TAP)
	VMOVUPS Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     vector

last:
	ADDQ $8, CX
	JZ   next
	GRID(PART)
	VMASKMOVPS Y0, Y6, (DI)

next:
	ADDQ 0x20(DX), R13
	ADDQ 0x28(DX), BX
	DECQ R15
	JNZ  row
	VZEROUPPER
	RET
