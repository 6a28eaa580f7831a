// The sums of the row avx512. A call takes 32 lines, eight factors of each at a
// time, which it turns in the lanes of the registers:
//
//	loaded                      turned
//	Z0  lines 0 8 16 24         Z8   factor 0 of lines 0 … 31
//	Z1  lines 1 9 17 25         Z9   factor 1
//	…   eight factors of each   …
//	Z7  lines 7 15 23 31        Z15  factor 7
//
// Then each factor is widened, and multiplied with that of one, two or four rows.
//
//	R8 … R11   lines 0, 8, 16, 24     R12 … R15  lines 4, 12, 20, 28
//	AX, BX     one and three lines    DX         factors of the rows
//	SI         how far ahead memory is asked for
//	Z16 …      sums: row by row, lines 0 … 15, then 16 … 31

//go:build amd64

#include "textflag.h"

// ARGUMENTS reads a chain, and CX: the factors less 32.
#define ARGUMENTS \
	MOVQ chain+0(FP), DI   \
	MOVQ 0(DI), R8         \
	MOVQ 8(DI), AX         \
	MOVQ 16(DI), CX        \
	MOVQ 24(DI), DX        \
	MOVQ 40(DI), SI        \
	MOVQ 32(DI), DI        \
	LEAQ (AX)(AX*2), BX    \
	LEAQ (R8)(AX*8), R9    \
	LEAQ (R9)(AX*8), R10   \
	LEAQ (R10)(AX*8), R11  \
	LEAQ (R8)(AX*4), R12   \
	LEAQ (R9)(AX*4), R13   \
	LEAQ (R10)(AX*4), R14  \
	LEAQ (R11)(AX*4), R15  \
	SUBQ $32, CX

#define LOAD(off) \
	VMOVDQU      off(R8), X0               \
	VMOVDQU      off(R8)(AX*1), X1         \
	VMOVDQU      off(R8)(AX*2), X2         \
	VMOVDQU      off(R8)(BX*1), X3         \
	VMOVDQU      off(R12), X4              \
	VMOVDQU      off(R12)(AX*1), X5        \
	VMOVDQU      off(R12)(AX*2), X6        \
	VMOVDQU      off(R12)(BX*1), X7        \
	VINSERTI32X4 $1, off(R9), Z0, Z0        \
	VINSERTI32X4 $1, off(R9)(AX*1), Z1, Z1  \
	VINSERTI32X4 $1, off(R9)(AX*2), Z2, Z2  \
	VINSERTI32X4 $1, off(R9)(BX*1), Z3, Z3  \
	VINSERTI32X4 $1, off(R13), Z4, Z4       \
	VINSERTI32X4 $1, off(R13)(AX*1), Z5, Z5 \
	VINSERTI32X4 $1, off(R13)(AX*2), Z6, Z6 \
	VINSERTI32X4 $1, off(R13)(BX*1), Z7, Z7 \
	VINSERTI32X4 $2, off(R10), Z0, Z0        \
	VINSERTI32X4 $2, off(R10)(AX*1), Z1, Z1  \
	VINSERTI32X4 $2, off(R10)(AX*2), Z2, Z2  \
	VINSERTI32X4 $2, off(R10)(BX*1), Z3, Z3  \
	VINSERTI32X4 $2, off(R14), Z4, Z4       \
	VINSERTI32X4 $2, off(R14)(AX*1), Z5, Z5 \
	VINSERTI32X4 $2, off(R14)(AX*2), Z6, Z6 \
	VINSERTI32X4 $2, off(R14)(BX*1), Z7, Z7 \
	VINSERTI32X4 $3, off(R11), Z0, Z0        \
	VINSERTI32X4 $3, off(R11)(AX*1), Z1, Z1  \
	VINSERTI32X4 $3, off(R11)(AX*2), Z2, Z2  \
	VINSERTI32X4 $3, off(R11)(BX*1), Z3, Z3  \
	VINSERTI32X4 $3, off(R15), Z4, Z4       \
	VINSERTI32X4 $3, off(R15)(AX*1), Z5, Z5 \
	VINSERTI32X4 $3, off(R15)(AX*2), Z6, Z6 \
	VINSERTI32X4 $3, off(R15)(BX*1), Z7, Z7

// TURN exchanges, in each lane, eight lines of eight factors.
#define TURN \
	VPUNPCKLWD  Z1, Z0, Z8   \
	VPUNPCKHWD  Z1, Z0, Z9   \
	VPUNPCKLWD  Z3, Z2, Z10  \
	VPUNPCKHWD  Z3, Z2, Z11  \
	VPUNPCKLWD  Z5, Z4, Z12  \
	VPUNPCKHWD  Z5, Z4, Z13  \
	VPUNPCKLWD  Z7, Z6, Z14  \
	VPUNPCKHWD  Z7, Z6, Z15  \
	VPUNPCKLDQ  Z10, Z8, Z0  \
	VPUNPCKHDQ  Z10, Z8, Z1  \
	VPUNPCKLDQ  Z14, Z12, Z2 \
	VPUNPCKHDQ  Z14, Z12, Z3 \
	VPUNPCKLDQ  Z11, Z9, Z4  \
	VPUNPCKHDQ  Z11, Z9, Z5  \
	VPUNPCKLDQ  Z15, Z13, Z6 \
	VPUNPCKHDQ  Z15, Z13, Z7 \
	VPUNPCKLQDQ Z2, Z0, Z8   \
	VPUNPCKHQDQ Z2, Z0, Z9   \
	VPUNPCKLQDQ Z3, Z1, Z10  \
	VPUNPCKHQDQ Z3, Z1, Z11  \
	VPUNPCKLQDQ Z6, Z4, Z12  \
	VPUNPCKHQDQ Z6, Z4, Z13  \
	VPUNPCKLQDQ Z7, Z5, Z14  \
	VPUNPCKHQDQ Z7, Z5, Z15

// WIDEN makes floats, Z0 and Z1, of a factor of all lines.
#define WIDEN(y, z) \
	VEXTRACTI64X4 $1, z, Y1  \
	VCVTPH2PS     y, Z0      \
	VCVTPH2PS     Y1, Z1

// ROW adds the products with a factor of a row.
#define ROW(at, low, high) \
	VBROADCASTSS at(DX), Z2    \
	VFMADD231PS  Z0, Z2, low  \
	VFMADD231PS  Z1, Z2, high

#define ROWS1(y, z, k) \
	WIDEN(y, z)         \
	ROW((4*(k)), Z16, Z17)

#define ROWS2(y, z, k) \
	WIDEN(y, z)           \
	ROW((8*(k)), Z16, Z17)    \
	ROW((8*(k)+4), Z18, Z19)

#define ROWS4(y, z, k) \
	WIDEN(y, z)             \
	ROW((16*(k)), Z16, Z17)     \
	ROW((16*(k)+4), Z18, Z19)   \
	ROW((16*(k)+8), Z20, Z21)   \
	ROW((16*(k)+12), Z22, Z23)

// EIGHT takes eight factors, which begin at byte off of the lines.
#define EIGHT(off, rows, k) \
	LOAD(off)            \
	TURN                 \
	rows(Y8, Z8, k)      \
	rows(Y9, Z9, (k+1))    \
	rows(Y10, Z10, (k+2))  \
	rows(Y11, Z11, (k+3))  \
	rows(Y12, Z12, (k+4))  \
	rows(Y13, Z13, (k+5))  \
	rows(Y14, Z14, (k+6))  \
	rows(Y15, Z15, (k+7))

// AHEAD asks for what eight lines hold some lines further.
#define AHEAD(low, high) \
	PREFETCHT0 (low)        \
	PREFETCHT0 (low)(AX*1)  \
	PREFETCHT0 (low)(AX*2)  \
	PREFETCHT0 (low)(BX*1)  \
	PREFETCHT0 (high)       \
	PREFETCHT0 (high)(AX*1) \
	PREFETCHT0 (high)(AX*2) \
	PREFETCHT0 (high)(BX*1)

#define FURTHER(n) \
	ADDQ $n, R8  \
	ADDQ $n, R9  \
	ADDQ $n, R10 \
	ADDQ $n, R11 \
	ADDQ $n, R12 \
	ADDQ $n, R13 \
	ADDQ $n, R14 \
	ADDQ $n, R15

#define ASK(low, high) \
	ADDQ SI, low     \
	ADDQ SI, high    \
	AHEAD(low, high) \
	SUBQ SI, low     \
	SUBQ SI, high

// DEPTH goes through all factors: 32 at a time, a line of the cache of each
// line, then eight.
#define DEPTH(rows, m) \
	JLT  rest               \
	                        \
loop:                       \
	ASK(R8, R12)            \
	EIGHT(0, rows, 0)       \
	ASK(R9, R13)            \
	EIGHT(16, rows, 8)      \
	ASK(R10, R14)           \
	EIGHT(32, rows, 16)     \
	ASK(R11, R15)           \
	EIGHT(48, rows, 24)     \
	FURTHER(64)             \
	ADDQ $(128*m), DX       \
	SUBQ $32, CX            \
	JGE  loop               \
	                        \
rest:                       \
	ADDQ $32, CX            \
	JZ   done               \
	                        \
eight:                      \
	EIGHT(0, rows, 0)       \
	FURTHER(16)             \
	ADDQ $(32*m), DX        \
	SUBQ $8, CX             \
	JNZ  eight              \
	                        \
done:

// func dots1AVX512(chain *chain)
TEXT ·dots1AVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	VMOVUPS (DI), Z16
	VMOVUPS 64(DI), Z17
	DEPTH(ROWS1, 1)
	VMOVUPS Z16, (DI)
	VMOVUPS Z17, 64(DI)
	VZEROUPPER
	RET

// func dots2AVX512(chain *chain)
TEXT ·dots2AVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	VMOVUPS (DI), Z16
	VMOVUPS 64(DI), Z17
	VMOVUPS 128(DI), Z18
	VMOVUPS 192(DI), Z19
	DEPTH(ROWS2, 2)
	VMOVUPS Z16, (DI)
	VMOVUPS Z17, 64(DI)
	VMOVUPS Z18, 128(DI)
	VMOVUPS Z19, 192(DI)
	VZEROUPPER
	RET

// func dots4AVX512(chain *chain)
TEXT ·dots4AVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	VMOVUPS (DI), Z16
	VMOVUPS 64(DI), Z17
	VMOVUPS 128(DI), Z18
	VMOVUPS 192(DI), Z19
	VMOVUPS 256(DI), Z20
	VMOVUPS 320(DI), Z21
	VMOVUPS 384(DI), Z22
	VMOVUPS 448(DI), Z23
	DEPTH(ROWS4, 4)
	VMOVUPS Z16, (DI)
	VMOVUPS Z17, 64(DI)
	VMOVUPS Z18, 128(DI)
	VMOVUPS Z19, 192(DI)
	VMOVUPS Z20, 256(DI)
	VMOVUPS Z21, 320(DI)
	VMOVUPS Z22, 384(DI)
	VMOVUPS Z23, 448(DI)
	VZEROUPPER
	RET

#define FACTOR(at, at32, x) \
	VCVTPH2PS   at, Z0       \
	VCVTPH2PS   at32, Z1     \
	VFMADD231PS Z0, x, Z2   \
	VFMADD231PS Z1, x, Z3

// func strip8AVX512(chain *chain)
//
// A call takes eight factors of lines side by side, 32 at a time: Z16 … Z23 have
// those of the row, in all lanes.
//
//	R8, R12  factors 0 and 4    AX, BX  one and three factors further
//	CX       lines, a multiple of 32    DI  sums
TEXT ·strip8AVX512(SB), NOSPLIT, $0-8
	MOVQ         chain+0(FP), DI
	MOVQ         0(DI), R8
	MOVQ         8(DI), AX
	MOVQ         16(DI), CX
	MOVQ         24(DI), DX
	MOVQ         40(DI), SI
	MOVQ         32(DI), DI
	LEAQ         (AX)(AX*2), BX
	LEAQ         (R8)(AX*4), R12
	VBROADCASTSS (DX), Z16
	VBROADCASTSS (DX)(SI*1), Z17
	VBROADCASTSS (DX)(SI*2), Z18
	VBROADCASTSS (DX)(SI*4), Z20
	LEAQ         (DX)(SI*2), DX
	VBROADCASTSS (DX)(SI*1), Z19
	VBROADCASTSS (DX)(SI*4), Z22
	LEAQ         (DX)(SI*1), DX
	VBROADCASTSS (DX)(SI*2), Z21
	VBROADCASTSS (DX)(SI*4), Z23

loop:
	VMOVUPS (DI), Z2
	VMOVUPS 64(DI), Z3
	FACTOR((R8), 32(R8), Z16)
	FACTOR((R8)(AX*1), 32(R8)(AX*1), Z17)
	FACTOR((R8)(AX*2), 32(R8)(AX*2), Z18)
	FACTOR((R8)(BX*1), 32(R8)(BX*1), Z19)
	FACTOR((R12), 32(R12), Z20)
	FACTOR((R12)(AX*1), 32(R12)(AX*1), Z21)
	FACTOR((R12)(AX*2), 32(R12)(AX*2), Z22)
	FACTOR((R12)(BX*1), 32(R12)(BX*1), Z23)
	VMOVUPS Z2, (DI)
	VMOVUPS Z3, 64(DI)
	ADDQ    $64, R8
	ADDQ    $64, R12
	ADDQ    $128, DI
	SUBQ    $32, CX
	JNZ     loop
	VZEROUPPER
	RET
