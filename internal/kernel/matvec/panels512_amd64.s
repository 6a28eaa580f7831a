// The panels of the row avx512: 32 lines.

//go:build amd64

#include "textflag.h"

// Panels: a factor of all lines is 64 bytes, which are read one after the other.
//
//	R8  the panel    CX  factors    DX  those of the rows    DI  sums
//	Z16 …  sums: row by row, the lower half of the lines, then the upper one

#define PANEL \
	MOVQ chain+0(FP), DI \
	MOVQ 0(DI), R8       \
	MOVQ 16(DI), CX      \
	MOVQ 24(DI), DX      \
	MOVQ 32(DI), DI

#define PRODUCT(x, low, high) \
	VBROADCASTSS x, Z2        \
	VFMADD231PS  Z0, Z2, low  \
	VFMADD231PS  Z1, Z2, high

#define PRODUCTS1(k) \
	VCVTPH2PS (64*k)(R8), Z0 \
	VCVTPH2PS (64*k+32)(R8), Z1 \
	PRODUCT((4*k+0)(DX), Z16, Z17)

#define PRODUCTS2(k) \
	VCVTPH2PS (64*k)(R8), Z0 \
	VCVTPH2PS (64*k+32)(R8), Z1 \
	PRODUCT((8*k+0)(DX), Z16, Z17) \
	PRODUCT((8*k+4)(DX), Z18, Z19)

#define PRODUCTS4(k) \
	VCVTPH2PS (64*k)(R8), Z0 \
	VCVTPH2PS (64*k+32)(R8), Z1 \
	PRODUCT((16*k+0)(DX), Z16, Z17) \
	PRODUCT((16*k+4)(DX), Z18, Z19) \
	PRODUCT((16*k+8)(DX), Z20, Z21) \
	PRODUCT((16*k+12)(DX), Z22, Z23)

// THROUGH goes through the factors of m rows: four at a time, then one. What lies
// ahead is asked for, far enough that it comes in time.
#define THROUGH(products, m) \
	SUBQ $4, CX         \
	JLT  rest           \
	                    \
loop:                   \
	PREFETCHT0 2048(R8) \
	PREFETCHT0 2112(R8) \
	PREFETCHT0 2176(R8) \
	PREFETCHT0 2240(R8) \
	products(0)         \
	products(1)         \
	products(2)         \
	products(3)         \
	ADDQ $(4*64), R8    \
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
	ADDQ $64, R8        \
	ADDQ $(4*m), DX     \
	DECQ CX             \
	JNZ  one            \
	                    \
done:

// func panel1AVX512(chain *chain)
TEXT ·panel1AVX512(SB), NOSPLIT, $0-8
	PANEL
	VMOVUPS 0(DI), Z16
	VMOVUPS 64(DI), Z17
	THROUGH(PRODUCTS1, 1)
	VMOVUPS Z16, 0(DI)
	VMOVUPS Z17, 64(DI)
	VZEROUPPER
	RET

// func panel2AVX512(chain *chain)
TEXT ·panel2AVX512(SB), NOSPLIT, $0-8
	PANEL
	VMOVUPS 0(DI), Z16
	VMOVUPS 64(DI), Z17
	VMOVUPS 128(DI), Z18
	VMOVUPS 192(DI), Z19
	THROUGH(PRODUCTS2, 2)
	VMOVUPS Z16, 0(DI)
	VMOVUPS Z17, 64(DI)
	VMOVUPS Z18, 128(DI)
	VMOVUPS Z19, 192(DI)
	VZEROUPPER
	RET

// func panel4AVX512(chain *chain)
TEXT ·panel4AVX512(SB), NOSPLIT, $0-8
	PANEL
	VMOVUPS 0(DI), Z16
	VMOVUPS 64(DI), Z17
	VMOVUPS 128(DI), Z18
	VMOVUPS 192(DI), Z19
	VMOVUPS 256(DI), Z20
	VMOVUPS 320(DI), Z21
	VMOVUPS 384(DI), Z22
	VMOVUPS 448(DI), Z23
	THROUGH(PRODUCTS4, 4)
	VMOVUPS Z16, 0(DI)
	VMOVUPS Z17, 64(DI)
	VMOVUPS Z18, 128(DI)
	VMOVUPS Z19, 192(DI)
	VMOVUPS Z20, 256(DI)
	VMOVUPS Z21, 320(DI)
	VMOVUPS Z22, 384(DI)
	VMOVUPS Z23, 448(DI)
	VZEROUPPER
	RET
