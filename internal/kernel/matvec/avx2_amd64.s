// The sums of the row avx2. A call takes 16 lines, eight factors of each at a time,
// which it turns in the lanes of the registers:
//
//	loaded              turned
//	Y0  lines 0 and 8   Y8 … Y11       factors 0 … 3 of lines 0 … 15
//	…                   Y0 Y2 Y4 Y6    factors 4 … 7
//	Y7  lines 7 and 15
//
//	R8, R9    lines 0 and 8          R12, R13  lines 4 and 12
//	AX, BX    one and three lines    DX        factors of the rows
//	SI        how far ahead memory is asked for
//	Y12 …     sums: row by row, lines 0 … 7, then 8 … 15

//go:build amd64

#include "textflag.h"

#define ARGUMENTS \
	MOVQ chain+0(FP), DI  \
	MOVQ 0(DI), R8        \
	MOVQ 8(DI), AX        \
	MOVQ 16(DI), CX       \
	MOVQ 24(DI), DX       \
	MOVQ 40(DI), SI       \
	MOVQ 32(DI), DI       \
	LEAQ (AX)(AX*2), BX   \
	LEAQ (R8)(AX*8), R9   \
	LEAQ (R8)(AX*4), R12  \
	LEAQ (R9)(AX*4), R13  \
	SUBQ $32, CX

#define LOAD(off) \
	VMOVDQU     off(R8), X0               \
	VMOVDQU     off(R8)(AX*1), X1         \
	VMOVDQU     off(R8)(AX*2), X2         \
	VMOVDQU     off(R8)(BX*1), X3         \
	VMOVDQU     off(R12), X4              \
	VMOVDQU     off(R12)(AX*1), X5        \
	VMOVDQU     off(R12)(AX*2), X6        \
	VMOVDQU     off(R12)(BX*1), X7        \
	VINSERTI128 $1, off(R9), Y0, Y0        \
	VINSERTI128 $1, off(R9)(AX*1), Y1, Y1  \
	VINSERTI128 $1, off(R9)(AX*2), Y2, Y2  \
	VINSERTI128 $1, off(R9)(BX*1), Y3, Y3  \
	VINSERTI128 $1, off(R13), Y4, Y4       \
	VINSERTI128 $1, off(R13)(AX*1), Y5, Y5 \
	VINSERTI128 $1, off(R13)(AX*2), Y6, Y6 \
	VINSERTI128 $1, off(R13)(BX*1), Y7, Y7

// TURN exchanges, in each lane, eight lines of eight factors.
#define TURN \
	VPUNPCKLWD  Y1, Y0, Y8   \
	VPUNPCKHWD  Y1, Y0, Y0   \
	VPUNPCKLWD  Y3, Y2, Y9   \
	VPUNPCKHWD  Y3, Y2, Y2   \
	VPUNPCKLWD  Y5, Y4, Y10  \
	VPUNPCKHWD  Y5, Y4, Y4   \
	VPUNPCKLWD  Y7, Y6, Y11  \
	VPUNPCKHWD  Y7, Y6, Y6   \
	VPUNPCKLDQ  Y9, Y8, Y1   \
	VPUNPCKHDQ  Y9, Y8, Y3   \
	VPUNPCKLDQ  Y11, Y10, Y5 \
	VPUNPCKHDQ  Y11, Y10, Y7 \
	VPUNPCKLQDQ Y5, Y1, Y8   \
	VPUNPCKHQDQ Y5, Y1, Y9   \
	VPUNPCKLQDQ Y7, Y3, Y10  \
	VPUNPCKHQDQ Y7, Y3, Y11  \
	VPUNPCKLDQ  Y2, Y0, Y1   \
	VPUNPCKHDQ  Y2, Y0, Y3   \
	VPUNPCKLDQ  Y6, Y4, Y5   \
	VPUNPCKHDQ  Y6, Y4, Y7   \
	VPUNPCKLQDQ Y5, Y1, Y0   \
	VPUNPCKHQDQ Y5, Y1, Y2   \
	VPUNPCKLQDQ Y7, Y3, Y4   \
	VPUNPCKHQDQ Y7, Y3, Y6

// WIDEN makes floats, Y1 and Y3, of a factor of all lines.
#define WIDEN(x, y) \
	VEXTRACTI128 $1, y, X3  \
	VCVTPH2PS    x, Y1      \
	VCVTPH2PS    X3, Y3

// ROW adds the products with a factor of a row.
#define ROW(at, low, high) \
	VBROADCASTSS at(DX), Y5  \
	VFMADD231PS  Y1, Y5, low \
	VFMADD231PS  Y3, Y5, high

#define ROWS1(x, y, k) \
	WIDEN(x, y)             \
	ROW((4*(k)), Y12, Y13)

#define ROWS2(x, y, k) \
	WIDEN(x, y)               \
	ROW((8*(k)), Y12, Y13)    \
	ROW((8*(k)+4), Y14, Y15)

// HALF4 takes two of four rows.
#define HALF4(x, y, k) \
	WIDEN(x, y)                \
	ROW((16*(k)), Y12, Y13)    \
	ROW((16*(k)+4), Y14, Y15)

#define EIGHT(off, rows, k) \
	LOAD(off)               \
	TURN                    \
	rows(X8, Y8, k)         \
	rows(X9, Y9, (k+1))     \
	rows(X10, Y10, (k+2))   \
	rows(X11, Y11, (k+3))   \
	rows(X0, Y0, (k+4))     \
	rows(X2, Y2, (k+5))     \
	rows(X4, Y4, (k+6))     \
	rows(X6, Y6, (k+7))

#define FURTHER(n) \
	ADDQ $n, R8  \
	ADDQ $n, R9  \
	ADDQ $n, R12 \
	ADDQ $n, R13

// ASK asks for what four lines hold some lines further.
#define ASK(line) \
	LEAQ       (line)(SI*1), R10 \
	PREFETCHT0 (R10)             \
	PREFETCHT0 (R10)(AX*1)       \
	PREFETCHT0 (R10)(AX*2)       \
	PREFETCHT0 (R10)(BX*1)

// DEPTH goes through all factors: 32 at a time, a line of the cache of each
// line, then eight.
#define DEPTH(rows, m) \
	JLT  rest               \
	                        \
loop:                       \
	ASK(R8)                 \
	EIGHT(0, rows, 0)       \
	ASK(R12)                \
	EIGHT(16, rows, 8)      \
	ASK(R9)                 \
	EIGHT(32, rows, 16)     \
	ASK(R13)                \
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

#define SUMS2 \
	VMOVUPS (DI), Y12   \
	VMOVUPS 32(DI), Y13 \
	VMOVUPS 64(DI), Y14 \
	VMOVUPS 96(DI), Y15

#define PUT2 \
	VMOVUPS Y12, (DI)   \
	VMOVUPS Y13, 32(DI) \
	VMOVUPS Y14, 64(DI) \
	VMOVUPS Y15, 96(DI)

// func dots1AVX2(chain *chain)
TEXT ·dots1AVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	VMOVUPS (DI), Y12
	VMOVUPS 32(DI), Y13
	DEPTH(ROWS1, 1)
	VMOVUPS Y12, (DI)
	VMOVUPS Y13, 32(DI)
	VZEROUPPER
	RET

// func dots2AVX2(chain *chain)
TEXT ·dots2AVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	SUMS2
	DEPTH(ROWS2, 2)
	PUT2
	VZEROUPPER
	RET

// func half4AVX2(chain *chain)
TEXT ·half4AVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	SUMS2
	DEPTH(HALF4, 4)
	PUT2
	VZEROUPPER
	RET

#define FACTOR(at, at16, x) \
	VCVTPH2PS   at, Y0      \
	VCVTPH2PS   at16, Y1    \
	VFMADD231PS Y0, x, Y2   \
	VFMADD231PS Y1, x, Y3

// func strip8AVX2(chain *chain)
//
// A call takes eight factors of lines side by side, 16 at a time: Y8 … Y15 have
// those of the row, in all lanes.
//
//	R8, R12  factors 0 and 4            AX, BX  one and three factors further
//	CX       lines, a multiple of 16    DI      sums
TEXT ·strip8AVX2(SB), NOSPLIT, $0-8
	MOVQ         chain+0(FP), DI
	MOVQ         0(DI), R8
	MOVQ         8(DI), AX
	MOVQ         16(DI), CX
	MOVQ         24(DI), DX
	MOVQ         40(DI), SI
	MOVQ         32(DI), DI
	LEAQ         (AX)(AX*2), BX
	LEAQ         (R8)(AX*4), R12
	VBROADCASTSS (DX), Y8
	VBROADCASTSS (DX)(SI*1), Y9
	VBROADCASTSS (DX)(SI*2), Y10
	VBROADCASTSS (DX)(SI*4), Y12
	LEAQ         (DX)(SI*2), DX
	VBROADCASTSS (DX)(SI*1), Y11
	VBROADCASTSS (DX)(SI*4), Y14
	LEAQ         (DX)(SI*1), DX
	VBROADCASTSS (DX)(SI*2), Y13
	VBROADCASTSS (DX)(SI*4), Y15

loop:
	VMOVUPS (DI), Y2
	VMOVUPS 32(DI), Y3
	FACTOR((R8), 16(R8), Y8)
	FACTOR((R8)(AX*1), 16(R8)(AX*1), Y9)
	FACTOR((R8)(AX*2), 16(R8)(AX*2), Y10)
	FACTOR((R8)(BX*1), 16(R8)(BX*1), Y11)
	FACTOR((R12), 16(R12), Y12)
	FACTOR((R12)(AX*1), 16(R12)(AX*1), Y13)
	FACTOR((R12)(AX*2), 16(R12)(AX*2), Y14)
	FACTOR((R12)(BX*1), 16(R12)(BX*1), Y15)
	VMOVUPS Y2, (DI)
	VMOVUPS Y3, 32(DI)
	ADDQ    $32, R8
	ADDQ    $32, R12
	ADDQ    $64, DI
	SUBQ    $16, CX
	JNZ     loop
	VZEROUPPER
	RET
