// The panels of the row avx2: 16 lines.

//go:build amd64

#include "textflag.h"

// Panels: a factor of all lines is 32 bytes, which are read one after the other.
//
//	R8  the panel    CX  factors    DX  those of the rows    DI  sums
//	Y8 …  sums: row by row, the lower half of the lines, then the upper one

#define PANEL \
	MOVQ chain+0(FP), DI \
	MOVQ 0(DI), R8       \
	MOVQ 16(DI), CX      \
	MOVQ 24(DI), DX      \
	MOVQ 32(DI), DI

#define PRODUCT(x, low, high) \
	VBROADCASTSS x, Y2        \
	VFMADD231PS  Y0, Y2, low  \
	VFMADD231PS  Y1, Y2, high

#define PRODUCTS1(k) \
	VCVTPH2PS (32*k)(R8), Y0 \
	VCVTPH2PS (32*k+16)(R8), Y1 \
	PRODUCT((4*k+0)(DX), Y8, Y9)

#define PRODUCTS2(k) \
	VCVTPH2PS (32*k)(R8), Y0 \
	VCVTPH2PS (32*k+16)(R8), Y1 \
	PRODUCT((8*k+0)(DX), Y8, Y9) \
	PRODUCT((8*k+4)(DX), Y10, Y11)

#define PRODUCTS4(k) \
	VCVTPH2PS (32*k)(R8), Y0 \
	VCVTPH2PS (32*k+16)(R8), Y1 \
	PRODUCT((16*k+0)(DX), Y8, Y9) \
	PRODUCT((16*k+4)(DX), Y10, Y11) \
	PRODUCT((16*k+8)(DX), Y12, Y13) \
	PRODUCT((16*k+12)(DX), Y14, Y15)

// THROUGH goes through the factors of m rows: four at a time, then one. What lies
// ahead is asked for, far enough that it comes in time.
#define THROUGH(products, m) \
	SUBQ $4, CX         \
	JLT  rest           \
	                    \
loop:                   \
	PREFETCHT0 2048(R8) \
	PREFETCHT0 2112(R8) \
	products(0)         \
	products(1)         \
	products(2)         \
	products(3)         \
	ADDQ $(4*32), R8    \
	ADDQ $(16*m), DX    \
	SUBQ $4, CX         \
	JGE  loop           \
	                    \
rest:                   \
	ADDQ $4, CX         \
	JZ   done           \
	                    \
one:                    \
	products(0)         \
	ADDQ $32, R8        \
	ADDQ $(4*m), DX     \
	DECQ CX             \
	JNZ  one            \
	                    \
done:

// func panel1AVX2(chain *chain)
TEXT ·panel1AVX2(SB), NOSPLIT, $0-8
	PANEL
	VMOVUPS 0(DI), Y8
	VMOVUPS 32(DI), Y9
	THROUGH(PRODUCTS1, 1)
	VMOVUPS Y8, 0(DI)
	VMOVUPS Y9, 32(DI)
	VZEROUPPER
	RET

// func panel2AVX2(chain *chain)
TEXT ·panel2AVX2(SB), NOSPLIT, $0-8
	PANEL
	VMOVUPS 0(DI), Y8
	VMOVUPS 32(DI), Y9
	VMOVUPS 64(DI), Y10
	VMOVUPS 96(DI), Y11
	THROUGH(PRODUCTS2, 2)
	VMOVUPS Y8, 0(DI)
	VMOVUPS Y9, 32(DI)
	VMOVUPS Y10, 64(DI)
	VMOVUPS Y11, 96(DI)
	VZEROUPPER
	RET

// func panel4AVX2(chain *chain)
TEXT ·panel4AVX2(SB), NOSPLIT, $0-8
	PANEL
	VMOVUPS 0(DI), Y8
	VMOVUPS 32(DI), Y9
	VMOVUPS 64(DI), Y10
	VMOVUPS 96(DI), Y11
	VMOVUPS 128(DI), Y12
	VMOVUPS 160(DI), Y13
	VMOVUPS 192(DI), Y14
	VMOVUPS 224(DI), Y15
	THROUGH(PRODUCTS4, 4)
	VMOVUPS Y8, 0(DI)
	VMOVUPS Y9, 32(DI)
	VMOVUPS Y10, 64(DI)
	VMOVUPS Y11, 96(DI)
	VMOVUPS Y12, 128(DI)
	VMOVUPS Y13, 160(DI)
	VMOVUPS Y14, 192(DI)
	VMOVUPS Y15, 224(DI)
	VZEROUPPER
	RET
