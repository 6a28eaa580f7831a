// The transforms of AVX2, eight tiles at once.

//go:build amd64

#include "textflag.h"
#include "lines_amd64.h"

#define FACTORS LOADFACTORS(Y8, Y9, Y10, Y11, Y12, Y13)

// FORWARD4 is forward4 of Y0 to Y5. The values are in Y0, Y1, Y6, Y2, Y4, Y5.
#define FORWARD4 LINE4(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13)

// Of n lanes, those that are there: 32-4*n bytes from the first on.
DATA lanes<>+0(SB)/8, $-1
DATA lanes<>+8(SB)/8, $-1
DATA lanes<>+16(SB)/8, $-1
DATA lanes<>+24(SB)/8, $-1
DATA lanes<>+32(SB)/8, $0
DATA lanes<>+40(SB)/8, $0
DATA lanes<>+48(SB)/8, $0
DATA lanes<>+56(SB)/8, $0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// pairs brings together what two tiles of four elements have at each place, halves
// what four tiles of two have.
DATA pairs<>+0(SB)/8, $0x0b0a030209080100
DATA pairs<>+8(SB)/8, $0x0f0e07060d0c0504
GLOBL pairs<>(SB), RODATA|NOPTR, $16
DATA halves<>+0(SB)/8, $0x0d0c090805040100
DATA halves<>+8(SB)/8, $0x0f0e0b0a07060302
GLOBL halves<>(SB), RODATA|NOPTR, $16

// ROWS reads the arguments. R13 is the row, R12 where its values go; R9 the lanes of
// the last eight tiles. X15 has the greatest magnitude, in the upper bits.
#define ROWS \
	MOVQ  a+0(FP), DX            \
	MOVQ  0(DX), R13             \
	MOVQ  16(DX), R15            \
	MOVQ  32(DX), R12            \
	MOVQ  48(DX), R10            \
	MOVQ  56(DX), AX             \
	LEAQ  lanes<>+32(SB), R9     \
	SHLQ  $2, AX                 \
	SUBQ  AX, R9                 \
	LEAQ  (R10)(R10*2), R11      \
	LEAQ  (R10)(R10*4), R8       \
	VPXOR X15, X15, X15

// LANES has in Y14 the lanes of these eight tiles, of which CX are left.
#define LANES \
	LEAQ    lanes<>(SB), BX \
	CMPQ    CX, $8          \
	CMOVQLE R9, BX          \
	VMOVUPS (BX), Y14

// SEEN puts elements to the greatest.
#define SEEN(x) \
	VPADDW  x, x, X6     \
	VPMAXUW X6, X15, X15

// NEXTEIGHT goes on with eight more tiles, NEXTROW with the next row.
#define NEXTEIGHT(bytes, loop) \
	ADDQ $bytes, SI \
	ADDQ $32, DI    \
	SUBQ $8, CX     \
	JG   loop

#define NEXTROW(loop) \
	ADDQ 8(DX), R13  \
	ADDQ 40(DX), R12 \
	DECQ R15         \
	JNZ  loop

// BAD says whether the greatest magnitude is that of an infinity or a NaN.
#define BAD \
	VPCMPEQW  X6, X6, X6   \
	VPSLLW    $11, X6, X6  \
	VPMAXUW   X6, X15, X6  \
	VPCMPEQW  X6, X15, X6  \
	VPMOVMSKB X6, AX       \
	ORL       AX, 64(DX)

// func across4Eight(a *eightArgs)
TEXT ·across4Eight(SB), NOSPLIT, $0-8
	FACTORS
	ROWS

row4:
	MOVQ R13, SI
	MOVQ R12, DI
	MOVQ 24(DX), CX

tiles4:
	LANES
	VMOVDQU     (SI), X0
	VMOVDQU     16(SI), X1
	VMOVDQU     32(SI), X2
	VMOVDQU     48(SI), X3
	VPSHUFB     pairs<>(SB), X0, X0
	VPSHUFB     pairs<>(SB), X1, X1
	VPSHUFB     pairs<>(SB), X2, X2
	VPSHUFB     pairs<>(SB), X3, X3
	VPUNPCKLDQ  X1, X0, X4
	VPUNPCKHDQ  X1, X0, X5
	VPUNPCKLDQ  X3, X2, X6
	VPUNPCKHDQ  X3, X2, X7
	VPUNPCKLQDQ X6, X4, X0
	VPUNPCKHQDQ X6, X4, X1
	VPUNPCKLQDQ X7, X5, X2
	VPUNPCKHQDQ X7, X5, X3
	VPSRLDQ     $2, X0, X4
	VPSRLDQ     $2, X1, X5
	VPINSRW     $7, 64(SI), X4, X4
	VPINSRW     $7, 66(SI), X5, X5
	SEEN(X0)
	SEEN(X1)
	SEEN(X2)
	SEEN(X3)
	SEEN(X4)
	SEEN(X5)
	VCVTPH2PS   X0, Y0
	VCVTPH2PS   X1, Y1
	VCVTPH2PS   X2, Y2
	VCVTPH2PS   X3, Y3
	VCVTPH2PS   X4, Y4
	VCVTPH2PS   X5, Y5
	FORWARD4
	VMASKMOVPS  Y0, Y14, (DI)
	VMASKMOVPS  Y1, Y14, (DI)(R10*1)
	VMASKMOVPS  Y6, Y14, (DI)(R10*2)
	VMASKMOVPS  Y2, Y14, (DI)(R11*1)
	VMASKMOVPS  Y4, Y14, (DI)(R10*4)
	VMASKMOVPS  Y5, Y14, (DI)(R8*1)
	NEXTEIGHT(64, tiles4)
	NEXTROW(row4)
	BAD
	VZEROUPPER
	RET

// func across2Eight(a *eightArgs)
TEXT ·across2Eight(SB), NOSPLIT, $0-8
	ROWS

row2:
	MOVQ R13, SI
	MOVQ R12, DI
	MOVQ 24(DX), CX

tiles2:
	LANES
	VMOVDQU     (SI), X0
	VMOVDQU     16(SI), X1
	VMOVDQU     4(SI), X2
	VMOVDQU     20(SI), X3
	SEEN(X0)
	SEEN(X1)
	SEEN(X3)
	VPSHUFB     halves<>(SB), X0, X0
	VPSHUFB     halves<>(SB), X1, X1
	VPSHUFB     halves<>(SB), X2, X2
	VPSHUFB     halves<>(SB), X3, X3
	VPUNPCKLQDQ X1, X0, X4
	VPUNPCKHQDQ X1, X0, X5
	VPUNPCKLQDQ X3, X2, X6
	VPUNPCKHQDQ X3, X2, X7
	VCVTPH2PS   X4, Y0
	VCVTPH2PS   X5, Y1
	VCVTPH2PS   X6, Y2
	VCVTPH2PS   X7, Y3
	VSUBPS      Y2, Y0, Y0
	VADDPS      Y2, Y1, Y4
	VSUBPS      Y1, Y2, Y5
	VSUBPS      Y3, Y1, Y6
	VMASKMOVPS  Y0, Y14, (DI)
	VMASKMOVPS  Y4, Y14, (DI)(R10*1)
	VMASKMOVPS  Y5, Y14, (DI)(R10*2)
	VMASKMOVPS  Y6, Y14, (DI)(R11*1)
	NEXTEIGHT(32, tiles2)
	NEXTROW(row2)
	BAD
	VZEROUPPER
	RET

// COLUMN4 transforms what eight tiles have in a column, some bytes further.
#define COLUMN4(at) \
	VMOVUPS at(R8)(BX*1), Y0  \
	VMOVUPS at(R9)(BX*1), Y1  \
	VMOVUPS at(R10)(BX*1), Y2 \
	VMOVUPS at(R11)(BX*1), Y3 \
	VMOVUPS at(R12)(BX*1), Y4 \
	VMOVUPS at(R13)(BX*1), Y5 \
	FORWARD4                  \
	VMOVUPS Y0, at(DI)        \
	VMOVUPS Y1, at(DI)(R15*1) \
	VMOVUPS Y6, at(DI)(R15*2) \
	ADDQ    AX, DI            \
	VMOVUPS Y2, at(DI)        \
	VMOVUPS Y4, at(DI)(R15*1) \
	VMOVUPS Y5, at(DI)(R15*2)

// func down4Eight(d *downArgs)
//
// R8 to R13 are the six rows of the tiles, BX where in them: 64 bytes further for
// each 16 tiles, a plane for each column.
TEXT ·down4Eight(SB), NOSPLIT, $0-8
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
	MOVQ 32(DX), R15
	LEAQ (R15)(R15*2), AX

tiles:
	MOVQ 40(DX), CX
	MOVQ (CX), DI
	ADDQ $8, CX
	MOVQ CX, 40(DX)
	SHLQ $2, DI
	ADDQ 24(DX), DI
	MOVQ $6, CX

column:
	COLUMN4(0)
	SUBQ AX, DI
	COLUMN4(32)
	ADDQ AX, DI
	ADDQ SI, BX
	DECQ CX
	JNZ  column

	LEAQ (SI)(SI*2), CX
	ADDQ CX, CX
	SUBQ CX, BX
	ADDQ $64, BX
	DECQ 48(DX)
	JNZ  tiles
	VZEROUPPER
	RET

#define COLUMN2(at) \
	VMOVUPS at(R8)(BX*1), Y0      \
	VMOVUPS at(R9)(BX*1), Y1      \
	VMOVUPS at(R10)(BX*1), Y2     \
	VSUBPS  Y2, Y0, Y3            \
	VADDPS  Y2, Y1, Y4            \
	VSUBPS  Y1, Y2, Y5            \
	VSUBPS  at(R11)(BX*1), Y1, Y6 \
	VMOVUPS Y3, at(DI)            \
	VMOVUPS Y4, at(DI)(R15*1)     \
	VMOVUPS Y5, at(DI)(R15*2)     \
	VMOVUPS Y6, at(DI)(AX*1)

// func down2Eight(d *downArgs)
TEXT ·down2Eight(SB), NOSPLIT, $0-8
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

tiles:
	MOVQ 40(DX), CX
	MOVQ (CX), DI
	ADDQ $8, CX
	MOVQ CX, 40(DX)
	SHLQ $2, DI
	ADDQ 24(DX), DI
	MOVQ $4, CX

column:
	COLUMN2(0)
	COLUMN2(32)
	LEAQ (DI)(R15*4), DI
	ADDQ SI, BX
	DECQ CX
	JNZ  column

	LEAQ (SI*4), CX
	SUBQ CX, BX
	ADDQ $64, BX
	DECQ 48(DX)
	JNZ  tiles
	VZEROUPPER
	RET

// INVERSE4 is inverse4 of v0, Y0 to Y3, which are values 1 to 4, and v5. The places are
// Y8, Y9, Y0 and Y1.
//
//	Y10 q, Y11 q², Y12 q³, Y13 p, Y14 p², Y15 p³
#define INVERSE4(v0, v5) \
	VADDPS      Y1, Y0, Y4   \
	VSUBPS      Y1, Y0, Y5   \
	VADDPS      Y3, Y2, Y6   \
	VSUBPS      Y3, Y2, Y7   \
	VADDPS      v0, Y4, Y8   \
	VMOVUPS     v5, Y1       \
	VADDPS      Y6, Y8, Y8   \
	VMULPS      Y10, Y7, Y9  \
	VMULPS      Y11, Y6, Y0  \
	VFMADD231PS Y12, Y7, Y1  \
	VFMADD231PS Y13, Y5, Y9  \
	VFMADD231PS Y14, Y4, Y0  \
	VFMADD231PS Y15, Y5, Y1

// HALF4 makes, of column j, the column of all four rows of places.
#define HALF4(j) \
	VMOVUPS (SI)(R8*1), Y0         \
	VMOVUPS (SI)(R8*2), Y1         \
	VMOVUPS (SI)(R9*1), Y2         \
	VMOVUPS (SI)(R8*4), Y3         \
	INVERSE4((SI), (SI)(R10*1))    \
	VMOVUPS Y8, (32*j)(R11)        \
	VMOVUPS Y9, (192+32*j)(R11)    \
	VMOVUPS Y0, (384+32*j)(R11)    \
	VMOVUPS Y1, (576+32*j)(R11)    \
	LEAQ    (SI)(R9*2), SI

// LAST and FIRST put four places of a tile, of the last four and of the first.
#define LAST(t, y) \
	MOVQ         (8*t+32)(CX), AX  \
	VEXTRACTF128 $1, y, (DI)(AX*4)

#define FIRST(t, x) \
	MOVQ    (8*t)(CX), AX   \
	VMOVUPS x, (DI)(AX*4)

// PLACES4 makes row i of places. Tiles are put from the last on: those that are not
// there lie where the last one does, which is put after them.
#define PLACES4(i) \
	VMOVUPS   (192*i+32)(R11), Y0            \
	VMOVUPS   (192*i+64)(R11), Y1            \
	VMOVUPS   (192*i+96)(R11), Y2            \
	VMOVUPS   (192*i+128)(R11), Y3           \
	INVERSE4((192*i)(R11), (192*i+160)(R11)) \
	VUNPCKLPS Y9, Y8, Y2                     \
	VUNPCKHPS Y9, Y8, Y3                     \
	VUNPCKLPS Y1, Y0, Y4                     \
	VUNPCKHPS Y1, Y0, Y5                     \
	VUNPCKLPD Y4, Y2, Y6                     \
	VUNPCKHPD Y4, Y2, Y7                     \
	VUNPCKLPD Y5, Y3, Y8                     \
	VUNPCKHPD Y5, Y3, Y9                     \
	LAST(3, Y9)                              \
	LAST(2, Y8)                              \
	LAST(1, Y7)                              \
	LAST(0, Y6)                              \
	FIRST(3, X9)                             \
	FIRST(2, X8)                             \
	FIRST(1, X7)                             \
	FIRST(0, X6)                             \
	ADDQ      R12, DI

// func back4Eight(b *backArgs)
//
// R11 is what lies between the two axes: four rows of six vectors.
TEXT ·back4Eight(SB), 0, $800-8
	MOVQ b+0(FP), DX
	LEAQ ·factors4(SB), R11
	VBROADCASTSS Q(R11), Y10
	VBROADCASTSS QQ(R11), Y11
	VBROADCASTSS QQQ(R11), Y12
	VBROADCASTSS P(R11), Y13
	VBROADCASTSS PP(R11), Y14
	VBROADCASTSS PPP(R11), Y15
	LEAQ between-768(SP), R11
	ANDQ $~31, R11
	MOVQ 8(DX), R8
	LEAQ (R8)(R8*2), R9
	LEAQ (R8)(R8*4), R10
	MOVQ 24(DX), R12
	MOVQ 32(DX), CX
	MOVQ 40(DX), BX

eight:
	MOVQ 0(DX), SI
	HALF4(0)
	HALF4(1)
	HALF4(2)
	HALF4(3)
	HALF4(4)
	HALF4(5)
	MOVQ 16(DX), DI
	PLACES4(0)
	PLACES4(1)
	PLACES4(2)
	PLACES4(3)
	ADDQ $64, CX
	ADDQ $32, 0(DX)
	SUBQ $8, BX
	JNZ  eight
	VZEROUPPER
	RET

#define HALF2(y0, y1) \
	VMOVUPS (SI)(R8*1), Y8     \
	VMOVUPS (SI)(R8*2), Y9     \
	VADDPS  (SI), Y8, y0       \
	VADDPS  Y9, y0, y0         \
	VSUBPS  Y9, Y8, y1         \
	VSUBPS  (SI)(R9*1), y1, y1 \
	LEAQ    (SI)(R8*4), SI

// PLACES2 makes a row of places: of tiles 0, 1, 4 and 5 in m0, the others in m2.
#define PLACES2(m0, m1, m2, m3) \
	VADDPS    m1, m0, m0   \
	VADDPS    m2, m0, m0   \
	VSUBPS    m2, m1, m1   \
	VSUBPS    m3, m1, m1   \
	VUNPCKHPS m1, m0, m2   \
	VUNPCKLPS m1, m0, m0

#define PUT2(t, r0, r1) \
	MOVQ    (8*t+8)(CX), AX   \
	VMOVHPS r0, (DI)(AX*4)    \
	VMOVHPS r1, (R12)(AX*4)   \
	MOVQ    (8*t)(CX), AX     \
	VMOVLPS r0, (DI)(AX*4)    \
	VMOVLPS r1, (R12)(AX*4)

// func back2Eight(b *backArgs)
TEXT ·back2Eight(SB), NOSPLIT, $0-8
	MOVQ b+0(FP), DX
	MOVQ 8(DX), R8
	LEAQ (R8)(R8*2), R9
	MOVQ 16(DX), DI
	MOVQ DI, R12
	ADDQ 24(DX), R12
	MOVQ 32(DX), CX
	MOVQ 40(DX), BX

eight:
	MOVQ 0(DX), SI
	HALF2(Y0, Y4)
	HALF2(Y1, Y5)
	HALF2(Y2, Y6)
	HALF2(Y3, Y7)
	PLACES2(Y0, Y1, Y2, Y3)
	PLACES2(Y4, Y5, Y6, Y7)
	VEXTRACTF128 $1, Y0, X8
	VEXTRACTF128 $1, Y2, X9
	VEXTRACTF128 $1, Y4, X10
	VEXTRACTF128 $1, Y6, X11
	PUT2(6, X9, X11)
	PUT2(4, X8, X10)
	PUT2(2, X2, X6)
	PUT2(0, X0, X4)
	ADDQ $64, CX
	ADDQ $32, 0(DX)
	SUBQ $8, BX
	JNZ  eight
	VZEROUPPER
	RET
