// The transforms of AVX-512, 16 tiles at once.

//go:build amd64

#include "textflag.h"
#include "lines_amd64.h"

// FACTORS loads what LINE4 multiplies with: Z24 to Z29.
#define FACTORS LOADFACTORS(Z24, Z25, Z26, Z27, Z28, Z29)

// FORWARD4 is forward4 of Z0 to Z5. The values are in Z0, Z1, Z6, Z2, Z4, Z5.
#define FORWARD4 LINE4(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z24, Z25, Z26, Z27, Z28, Z29)

// ACROSS reads the arguments: the first element of the first row in SI.
#define ACROSS \
	MOVQ  a+0(FP), DX  \
	MOVQ  0(DX), SI    \
	ADDQ  8(DX), SI    \
	MOVQ  16(DX), R8   \
	MOVQ  24(DX), CX   \
	MOVQ  32(DX), DI   \
	MOVQ  40(DX), R9   \
	MOVQ  48(DX), R10  \
	KMOVD 56(DX), K1   \
	KMOVD 60(DX), K2   \
	KMOVD 64(DX), K3   \
	KMOVD 68(DX), K4   \
	KMOVD 72(DX), K5   \
	MOVL         $0x7c007c00, AX \
	VPBROADCASTD AX, Z30         \
	KXORD        K6, K6, K6

// FINITE looks for the exponent of infinities and NaN.
#define FINITE(z) \
	VPANDD   z, Z30, Z31     \
	VPCMPEQW Z31, Z30, K7    \
	KORD     K7, K6, K6

// BAD says what FINITE has found.
#define BAD \
	KMOVD K6, AX      \
	ORL   AX, 76(DX)

// PICK makes floats of the elements that tiles have at one place.
#define PICK(picks, low, high, z, y) \
	VMOVDQA64 picks, z    \
	VPERMI2W  high, low, z \
	VCVTPH2PS y, z

// func across4(a *acrossArgs)
TEXT ·across4(SB), NOSPLIT, $0-8
	ACROSS
	FACTORS
	LEAQ     ·pick4(SB), R11
	VMOVDQU32 (R11), Y20
	VMOVDQU32 32(R11), Y21
	VMOVDQU32 64(R11), Y22
	VMOVDQU32 96(R11), Y23
	LEAQ     (R10)(R10*2), R11 // three planes
	LEAQ     (R10)(R10*4), R12

row4:
	VMOVDQU16.Z (SI), K1, Z8
	VMOVDQU16.Z 64(SI), K2, Z9
	VMOVDQU16.Z 8(SI), K3, Z10
	VMOVDQU16.Z 72(SI), K4, Z11
	FINITE(Z8)
	FINITE(Z9)
	FINITE(Z11)
	PICK(Z20, Z8, Z9, Z0, Y0)
	PICK(Z21, Z8, Z9, Z1, Y1)
	PICK(Z22, Z8, Z9, Z2, Y2)
	PICK(Z23, Z8, Z9, Z3, Y3)
	PICK(Z20, Z10, Z11, Z4, Y4)
	PICK(Z21, Z10, Z11, Z5, Y5)
	FORWARD4
	VMOVUPS Z0, K5, (DI)
	VMOVUPS Z1, K5, (DI)(R10*1)
	VMOVUPS Z6, K5, (DI)(R10*2)
	VMOVUPS Z2, K5, (DI)(R11*1)
	VMOVUPS Z4, K5, (DI)(R10*4)
	VMOVUPS Z5, K5, (DI)(R12*1)
	ADDQ    R8, SI
	ADDQ    R9, DI
	DECQ    CX
	JNZ     row4
	BAD
	VZEROUPPER
	RET

// func across2(a *acrossArgs)
TEXT ·across2(SB), NOSPLIT, $0-8
	ACROSS
	LEAQ      ·pick2(SB), R11
	VMOVDQU32 (R11), Y20
	VMOVDQU32 32(R11), Y21
	LEAQ      (R10)(R10*2), R11

row2:
	VMOVDQU16.Z (SI), K1, Z8
	VMOVDQU16.Z 4(SI), K3, Z10
	FINITE(Z8)
	FINITE(Z10)
	VPERMW    Z8, Z20, Z0
	VPERMW    Z8, Z21, Z1
	VPERMW    Z10, Z20, Z2
	VPERMW    Z10, Z21, Z3
	VCVTPH2PS Y0, Z0
	VCVTPH2PS Y1, Z1
	VCVTPH2PS Y2, Z2
	VCVTPH2PS Y3, Z3
	VSUBPS    Z2, Z0, Z0
	VADDPS    Z2, Z1, Z4
	VSUBPS    Z1, Z2, Z5
	VSUBPS    Z3, Z1, Z6
	VMOVUPS   Z0, K5, (DI)
	VMOVUPS   Z4, K5, (DI)(R10*1)
	VMOVUPS   Z5, K5, (DI)(R10*2)
	VMOVUPS   Z6, K5, (DI)(R11*1)
	ADDQ      R8, SI
	ADDQ      R9, DI
	DECQ      CX
	JNZ       row2
	BAD
	VZEROUPPER
	RET

// func down4(d *downArgs)
//
// R8 to R13 are the six rows of the tiles, BX where in them: 64 bytes further for
// each 16 tiles, a plane for each column.
TEXT ·down4(SB), NOSPLIT, $0-8
	MOVQ d+0(FP), DX
	FACTORS
	MOVQ 0(DX), R8
	MOVQ 8(DX), SI
	LEAQ (SI)(SI*2), AX
	ADDQ AX, AX         // six planes
	LEAQ (R8)(AX*1), R9
	LEAQ (R8)(AX*2), R10
	LEAQ (R9)(AX*2), R11
	MOVQ 16(DX), R12
	LEAQ (R9)(R12*1), R13
	ADDQ R8, R12
	XORQ BX, BX

tiles4:
	MOVQ 40(DX), CX
	MOVQ (CX), DI
	ADDQ $8, CX
	MOVQ CX, 40(DX)
	SHLQ $2, DI
	ADDQ 24(DX), DI
	MOVQ 32(DX), R15
	LEAQ (R15)(R15*2), AX
	MOVQ $6, CX

column4:
	VMOVUPS (R8)(BX*1), Z0
	VMOVUPS (R9)(BX*1), Z1
	VMOVUPS (R10)(BX*1), Z2
	VMOVUPS (R11)(BX*1), Z3
	VMOVUPS (R12)(BX*1), Z4
	VMOVUPS (R13)(BX*1), Z5
	FORWARD4
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, (DI)(R15*1)
	VMOVUPS Z6, (DI)(R15*2)
	ADDQ    AX, DI
	VMOVUPS Z2, (DI)
	VMOVUPS Z4, (DI)(R15*1)
	VMOVUPS Z5, (DI)(R15*2)
	ADDQ    AX, DI
	ADDQ    SI, BX
	DECQ    CX
	JNZ     column4

	LEAQ (SI)(SI*2), AX
	ADDQ AX, AX
	SUBQ AX, BX
	ADDQ $64, BX
	DECQ 48(DX)
	JNZ  tiles4
	VZEROUPPER
	RET

// func down2(d *downArgs)
TEXT ·down2(SB), NOSPLIT, $0-8
	MOVQ d+0(FP), DX
	MOVQ 0(DX), R8
	MOVQ 8(DX), SI
	LEAQ (R8)(SI*4), R9
	MOVQ 16(DX), R10
	LEAQ (R9)(R10*1), R11
	ADDQ R8, R10
	XORQ BX, BX
	MOVQ 32(DX), R15
	LEAQ (R15)(R15*2), AX

tiles2:
	MOVQ 40(DX), CX
	MOVQ (CX), DI
	ADDQ $8, CX
	MOVQ CX, 40(DX)
	SHLQ $2, DI
	ADDQ 24(DX), DI
	MOVQ $4, CX

column2:
	VMOVUPS (R8)(BX*1), Z0
	VMOVUPS (R9)(BX*1), Z1
	VMOVUPS (R10)(BX*1), Z2
	VSUBPS  Z2, Z0, Z3
	VADDPS  Z2, Z1, Z4
	VSUBPS  Z1, Z2, Z5
	VSUBPS  (R11)(BX*1), Z1, Z6
	VMOVUPS Z3, (DI)
	VMOVUPS Z4, (DI)(R15*1)
	VMOVUPS Z5, (DI)(R15*2)
	VMOVUPS Z6, (DI)(AX*1)
	LEAQ    (DI)(R15*4), DI
	ADDQ    SI, BX
	DECQ    CX
	JNZ     column2

	LEAQ (SI*4), CX
	SUBQ CX, BX
	ADDQ $64, BX
	DECQ 48(DX)
	JNZ  tiles2
	VZEROUPPER
	RET

// SUMS are the sums and differences of inverse4, of values that are loaded.
#define SUMS(m1, m2, m3, m4) \
	VADDPS m2, m1, Z26 \
	VSUBPS m2, m1, Z27 \
	VADDPS m4, m3, Z28 \
	VSUBPS m4, m3, Z29

// ROWS are the four places, but for values 0 and 5, of which the last has 5 already.
#define ROWS(y1, y2, y3) \
	VMULPS.BCST      Q(R11), Z29, y1   \
	VMULPS.BCST      QQ(R11), Z28, y2  \
	VFMADD231PS.BCST QQQ(R11), Z29, y3 \
	VFMADD231PS.BCST P(R11), Z27, y1   \
	VFMADD231PS.BCST PP(R11), Z26, y2  \
	VFMADD231PS.BCST PPP(R11), Z27, y3

// COLUMN4 makes, of column j, the column of all four rows of places.
#define COLUMN4(y0, y1, y2, y3) \
	VMOVUPS (SI)(R8*1), Z24     \
	VMOVUPS (SI)(R8*2), Z25     \
	VMOVUPS (SI)(R9*1), Z30     \
	VMOVUPS (SI)(R8*4), Z31     \
	SUMS(Z24, Z25, Z30, Z31)    \
	VADDPS  (SI), Z26, y0       \
	VMOVUPS (SI)(R10*1), y3     \
	VADDPS  Z28, y0, y0         \
	ROWS(y1, y2, y3)            \
	LEAQ    (SI)(R9*2), SI

// PLACES4 makes, of a row of places, what each tile has of it: lane i of the four
// vectors has tiles 4*i, 4*i+1, …
#define PLACES4(m0, m1, m2, m3, m4, m5) \
	SUMS(m1, m2, m3, m4)       \
	VADDPS    Z26, m0, m0      \
	VADDPS    Z28, m0, m0      \
	ROWS(m1, m2, m5)           \
	VUNPCKLPS m1, m0, Z26      \
	VUNPCKHPS m1, m0, Z27      \
	VUNPCKLPS m5, m2, Z28      \
	VUNPCKHPS m5, m2, Z29      \
	VUNPCKLPD Z28, Z26, m0     \
	VUNPCKHPD Z28, Z26, m1     \
	VUNPCKLPD Z29, Z27, m2     \
	VUNPCKHPD Z29, Z27, m3

// PUT4 writes the rows of a tile, and is done after the last one.
#define PUT4(t, lane, r0, r1, r2, r3) \
	MOVQ          (8*t)(CX), AX           \
	VEXTRACTF32X4 $lane, r0, (DI)(AX*4)   \
	VEXTRACTF32X4 $lane, r1, (R12)(AX*4)  \
	VEXTRACTF32X4 $lane, r2, (R13)(AX*4)  \
	VEXTRACTF32X4 $lane, r3, (R15)(AX*4)  \
	DECQ          BX                      \
	JZ            done4

// func back4(b *backArgs)
TEXT ·back4(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), DX
	MOVQ 8(DX), R8
	LEAQ (R8)(R8*2), R9
	LEAQ (R8)(R8*4), R10
	LEAQ ·factors4(SB), R11
	MOVQ 16(DX), DI
	MOVQ 24(DX), AX
	LEAQ (DI)(AX*1), R12
	LEAQ (DI)(AX*2), R13
	LEAQ (R12)(AX*2), R15
	MOVQ 32(DX), CX
	MOVQ 40(DX), BX

sixteen4:
	MOVQ 0(DX), SI
	COLUMN4(Z0, Z6, Z12, Z18)
	COLUMN4(Z1, Z7, Z13, Z19)
	COLUMN4(Z2, Z8, Z14, Z20)
	COLUMN4(Z3, Z9, Z15, Z21)
	COLUMN4(Z4, Z10, Z16, Z22)
	COLUMN4(Z5, Z11, Z17, Z23)
	PLACES4(Z0, Z1, Z2, Z3, Z4, Z5)
	PLACES4(Z6, Z7, Z8, Z9, Z10, Z11)
	PLACES4(Z12, Z13, Z14, Z15, Z16, Z17)
	PLACES4(Z18, Z19, Z20, Z21, Z22, Z23)
	PUT4(0, 0, Z0, Z6, Z12, Z18)
	PUT4(1, 0, Z1, Z7, Z13, Z19)
	PUT4(2, 0, Z2, Z8, Z14, Z20)
	PUT4(3, 0, Z3, Z9, Z15, Z21)
	PUT4(4, 1, Z0, Z6, Z12, Z18)
	PUT4(5, 1, Z1, Z7, Z13, Z19)
	PUT4(6, 1, Z2, Z8, Z14, Z20)
	PUT4(7, 1, Z3, Z9, Z15, Z21)
	PUT4(8, 2, Z0, Z6, Z12, Z18)
	PUT4(9, 2, Z1, Z7, Z13, Z19)
	PUT4(10, 2, Z2, Z8, Z14, Z20)
	PUT4(11, 2, Z3, Z9, Z15, Z21)
	PUT4(12, 3, Z0, Z6, Z12, Z18)
	PUT4(13, 3, Z1, Z7, Z13, Z19)
	PUT4(14, 3, Z2, Z8, Z14, Z20)
	PUT4(15, 3, Z3, Z9, Z15, Z21)
	ADDQ $128, CX
	ADDQ $64, 0(DX)
	JMP  sixteen4

done4:
	VZEROUPPER
	RET

// COLUMN2 is COLUMN4 of four values and two rows.
#define COLUMN2(y0, y1) \
	VMOVUPS (SI)(R8*1), Z24   \
	VMOVUPS (SI)(R8*2), Z25   \
	VADDPS  (SI), Z24, y0     \
	VADDPS  Z25, y0, y0       \
	VSUBPS  Z25, Z24, y1      \
	VSUBPS  (SI)(R9*1), y1, y1 \
	LEAQ    (SI)(R8*4), SI

// PLACES2 is PLACES4: lane i has tiles 4*i and 4*i+1, and 4*i+2 and 4*i+3.
#define PLACES2(m0, m1, m2, m3) \
	VADDPS    m1, m0, m0   \
	VADDPS    m2, m0, m0   \
	VSUBPS    m2, m1, m1   \
	VSUBPS    m3, m1, m1   \
	VUNPCKHPS m1, m0, m2   \
	VUNPCKLPS m1, m0, m0

// PUT2 writes two tiles.
#define PUT2(t, lane, r0, r1) \
	MOVQ          (8*t)(CX), AX       \
	VEXTRACTF32X4 $lane, r0, X14      \
	VEXTRACTF32X4 $lane, r1, X15      \
	VMOVLPS       X14, (DI)(AX*4)     \
	VMOVLPS       X15, (R12)(AX*4)    \
	DECQ          BX                  \
	JZ            done2               \
	MOVQ          (8*t+8)(CX), AX     \
	VMOVHPS       X14, (DI)(AX*4)     \
	VMOVHPS       X15, (R12)(AX*4)    \
	DECQ          BX                  \
	JZ            done2

// func back2(b *backArgs)
TEXT ·back2(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), DX
	MOVQ 8(DX), R8
	LEAQ (R8)(R8*2), R9
	MOVQ 16(DX), DI
	MOVQ DI, R12
	ADDQ 24(DX), R12
	MOVQ 32(DX), CX
	MOVQ 40(DX), BX

sixteen2:
	MOVQ 0(DX), SI
	COLUMN2(Z0, Z4)
	COLUMN2(Z1, Z5)
	COLUMN2(Z2, Z6)
	COLUMN2(Z3, Z7)
	PLACES2(Z0, Z1, Z2, Z3)
	PLACES2(Z4, Z5, Z6, Z7)
	PUT2(0, 0, Z0, Z4)
	PUT2(2, 0, Z2, Z6)
	PUT2(4, 1, Z0, Z4)
	PUT2(6, 1, Z2, Z6)
	PUT2(8, 2, Z0, Z4)
	PUT2(10, 2, Z2, Z6)
	PUT2(12, 3, Z0, Z4)
	PUT2(14, 3, Z2, Z6)
	ADDQ $128, CX
	ADDQ $64, 0(DX)
	JMP  sixteen2

done2:
	VZEROUPPER
	RET
