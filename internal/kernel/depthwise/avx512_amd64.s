// Channels by themselves, with AVX-512: 16 places of a row at a time, the last under
// a mask.

//go:build amd64

#include "textflag.h"

// TAP adds a product: w·x, rounded, then the sum.
#define TAP(x, w) \
	VMULPS.Z x, w, K1, Z1 \
	VADDPS   Z1, Z0, Z0

// FIRST is the first product. Added to 0, it is rounded once, and -0 becomes 0, as
// for the others.
#define FIRST(x, w) \
	VPXORD      Z0, Z0, Z0 \
	VFMADD231PS x, w, K1, Z0

// BROADCASTS reads what the end of each sum takes.
//
//	Z8 bias, Z9 lo, Z10 hi, Z11 zero, Z12 signs, Z13 the bits of NaN
#define BROADCASTS \
	VBROADCASTSS 0x68(DX), Z8   \
	VBROADCASTSS 0x6c(DX), Z9   \
	VBROADCASTSS 0x70(DX), Z10  \
	VBROADCASTSS 0x74(DX), Z11  \
	MOVL         $0x80000000, AX \
	VPBROADCASTD AX, Z12        \
	MOVL         $0x7fc00000, AX \
	VPBROADCASTD AX, Z13

// BOUND adds the bias to Z0 and keeps it between the bounds. NaN stays, and -0 where
// lo is not 0.
#define BOUND \
	VADDPS Z8, Z0, Z0  \
	VMAXPS Z0, Z9, Z0  \
	VADDPS Z11, Z0, Z0 \
	VMINPS Z0, Z10, Z0

// TOHALF rounds Z0 to the fp16 numbers Y0. A NaN is the quiet one, with its sign.
#define TOHALF \
	VCMPPS     $3, Z0, Z0, K3               \
	VPTERNLOGD $0xea, Z13, Z12, K3, Z0      \
	VCVTPS2PH  $0, Z0, Y0

// MASKS makes K4, 16 lanes, and K5, those of the last vector of a row of CX. It is
// also that of a row that has but one.
#define MASKS \
	MOVQ  CX, R12       \
	DECQ  CX            \
	ANDL  $15, CX       \
	MOVL  $2, AX        \
	SHLL  CX, AX        \
	DECL  AX            \
	KMOVW AX, K5        \
	MOVL  $0xffff, AX   \
	KMOVW AX, K4

// func gridAVX512(a *tapping)
//
// Three rows of three taps, whose weights stay in Z16 to Z24.
//
//	SI  what a vector meets, R8 and R9 the other rows of taps, R10 and R11 the other columns
//	DI  dst
//	CX  places of the row that are left, of R12
//	R13, BX  the beginnings of the rows; AX is free
TEXT ·gridAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DX
	MOVQ 0x48(DX), R8
	MOVQ 0x50(DX), R9
	MOVQ 0x58(DX), R10
	MOVQ 0x60(DX), R11
	MOVQ 0x30(DX), AX
	VBROADCASTSS 0(AX), Z16
	VBROADCASTSS 4(AX), Z17
	VBROADCASTSS 8(AX), Z18
	VBROADCASTSS 12(AX), Z19
	VBROADCASTSS 16(AX), Z20
	VBROADCASTSS 20(AX), Z21
	VBROADCASTSS 24(AX), Z22
	VBROADCASTSS 28(AX), Z23
	VBROADCASTSS 32(AX), Z24
	MOVQ 0x18(DX), CX
	MASKS
	BROADCASTS
	MOVQ 0x00(DX), BX
	MOVQ 0x08(DX), R13
	MOVQ 0x10(DX), R15

row:
	MOVQ  R13, SI
	MOVQ  BX, DI
	MOVQ  R12, CX
	KMOVW K4, K1

vector:
	CMPQ  CX, $16
	JGT   full
	KMOVW K5, K1

full:
	FIRST((SI), Z16)
	TAP((SI)(R10*1), Z17)
	TAP((SI)(R11*1), Z18)
	LEAQ (SI)(R8*1), AX
	TAP((AX), Z19)
	TAP((AX)(R10*1), Z20)
	TAP((AX)(R11*1), Z21)
	LEAQ (SI)(R9*1), AX
	TAP((AX), Z22)
	TAP((AX)(R10*1), Z23)
	TAP((AX)(R11*1), Z24)
	BOUND
	CMPQ 0x78(DX), $0
	JEQ  floats
	TOHALF
	VMOVDQU16 Y0, K1, (DI)
	ADDQ $32, DI
	JMP  next

floats:
	VMOVUPS Z0, K1, (DI)
	ADDQ    $64, DI

next:
	ADDQ $64, SI
	SUBQ $16, CX
	JGT  vector
	ADDQ 0x20(DX), R13
	ADDQ 0x28(DX), BX
	DECQ R15
	JNZ  row
	VZEROUPPER
	RET

// func tapsAVX512(a *tapping)
//
// Taps of any number, at any distance. Two vectors at a time, so that one does not
// wait for its own sums.
//
//	R8 weights, R9 shifts, R10 taps, R11 counts them; the others as above
TEXT ·tapsAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DX
	MOVQ 0x30(DX), R8
	MOVQ 0x38(DX), R9
	MOVQ 0x40(DX), R10
	MOVQ 0x18(DX), CX
	MASKS
	BROADCASTS
	MOVQ 0x00(DX), BX
	MOVQ 0x08(DX), R13
	MOVQ 0x10(DX), R15

row:
	MOVQ R13, SI
	MOVQ BX, DI
	MOVQ R12, CX

vector:
	KMOVW  K4, K1
	KMOVW  K4, K2
	VPXORD Z0, Z0, Z0
	VPXORD Z2, Z2, Z2
	CMPQ   CX, $32
	JGT    begin
	KMOVW  K5, K2
	CMPQ   CX, $16
	JGT    begin
	KMOVW  K5, K1
	KXORW  K2, K2, K2

begin:
	XORQ  R11, R11
	TESTQ R10, R10
	JZ    end

tap:
	MOVQ         (R9)(R11*8), AX
	VBROADCASTSS (R8)(R11*4), Z4
	LEAQ         (SI)(AX*4), AX
	VMULPS.Z     (AX), Z4, K1, Z1
	VMULPS.Z     64(AX), Z4, K2, Z3
	VADDPS       Z1, Z0, Z0
	VADDPS       Z3, Z2, Z2
	INCQ         R11
	CMPQ         R11, R10
	JLT          tap

end:
	BOUND
	CMPQ 0x78(DX), $0
	JEQ  floats
	TOHALF
	VMOVDQU16 Y0, K1, (DI)
	VMOVAPS   Z2, Z0
	BOUND
	TOHALF
	VMOVDQU16 Y0, K2, 32(DI)
	ADDQ $64, DI
	JMP  next

floats:
	VMOVUPS Z0, K1, (DI)
	VMOVAPS Z2, Z0
	BOUND
	VMOVUPS Z0, K2, 64(DI)
	ADDQ    $128, DI

next:
	ADDQ $128, SI
	SUBQ $32, CX
	JGT  vector
	ADDQ 0x20(DX), R13
	ADDQ 0x28(DX), BX
	DECQ R15
	JNZ  row
	VZEROUPPER
	RET

// GREATER makes Z0 the greater of Z0 and Z1: NaN if either is, and 0 is greater than
// -0. Where they can be compared, the instruction does that; where not, the sum is
// NaN.
#define GREATER(z0, z1) \
	VCMPPS   $3, z1, z0, K3    \
	VRANGEPS $5, z1, z0, Z5    \
	VADDPS   z1, z0, K3, Z5    \
	VMOVAPS  Z5, z0

// func maxAVX512(a *tapping)
//
// The greatest of what taps meet; registers as in tapsAVX512, Z6 has -infinity.
TEXT ·maxAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DX
	MOVQ 0x38(DX), R9
	MOVQ 0x40(DX), R10
	MOVQ 0x18(DX), CX
	MASKS
	BROADCASTS
	MOVL $0xff800000, AX
	VPBROADCASTD AX, Z6
	MOVQ 0x00(DX), BX
	MOVQ 0x08(DX), R13
	MOVQ 0x10(DX), R15

row:
	MOVQ R13, SI
	MOVQ BX, DI
	MOVQ R12, CX

vector:
	KMOVW   K4, K1
	KMOVW   K4, K2
	VMOVAPS Z6, Z0
	VMOVAPS Z6, Z2
	CMPQ    CX, $32
	JGT     begin
	KMOVW   K5, K2
	CMPQ    CX, $16
	JGT     begin
	KMOVW   K5, K1
	KXORW   K2, K2, K2

begin:
	XORQ  R11, R11
	TESTQ R10, R10
	JZ    end

tap:
	MOVQ      (R9)(R11*8), AX
	LEAQ      (SI)(AX*4), AX
	VMOVUPS.Z (AX), K1, Z1
	VMOVUPS.Z 64(AX), K2, Z3
	GREATER(Z0, Z1)
	GREATER(Z2, Z3)
	INCQ      R11
	CMPQ      R11, R10
	JLT       tap

end:
	BOUND
	CMPQ 0x78(DX), $0
	JEQ  floats
	TOHALF
	VMOVDQU16 Y0, K1, (DI)
	VMOVAPS   Z2, Z0
	BOUND
	TOHALF
	VMOVDQU16 Y0, K2, 32(DI)
	ADDQ $64, DI
	JMP  next

floats:
	VMOVUPS Z0, K1, (DI)
	VMOVAPS Z2, Z0
	BOUND
	VMOVUPS Z0, K2, 64(DI)
	ADDQ    $128, DI

next:
	ADDQ $128, SI
	SUBQ $32, CX
	JGT  vector
	ADDQ 0x20(DX), R13
	ADDQ 0x28(DX), BX
	DECQ R15
	JNZ  row
	VZEROUPPER
	RET
