// The blocks of the row avx2-6x16.
//
//	Y0 Y1      a factor of 16 lines of B
//	Y2 Y3      a factor of two lines of A, each in all lanes
//	Y4 … Y15   the sums: line by line of A, eight lines of B in each
//
// Four factors are taken at a time, then what is left of the depth. The sums are
// added to C at the end.

//go:build amd64

#include "textflag.h"

// TWO adds the products of two lines of A, of which the first is l.
#define TWO(k, l, s0, s1, s2, s3) \
	VBROADCASTSS (24*k+4*l)(AX), Y2   \
	VBROADCASTSS (24*k+4*l+4)(AX), Y3 \
	VFMADD231PS  Y0, Y2, s0           \
	VFMADD231PS  Y1, Y2, s1           \
	VFMADD231PS  Y0, Y3, s2           \
	VFMADD231PS  Y1, Y3, s3

#define STEP(k) \
	VMOVUPS (64*k)(BX), Y0              \
	VMOVUPS (64*k+32)(BX), Y1           \
	TWO(k, 0, Y4, Y5, Y6, Y7)           \
	TWO(k, 2, Y8, Y9, Y10, Y11)         \
	TWO(k, 4, Y12, Y13, Y14, Y15)

// PUT puts sums into a row of C, and goes on to the next.
#define PUT(s0, s1) \
	VADDPS  (SI), s0, s0   \
	VADDPS  32(SI), s1, s1 \
	VMOVUPS s0, (DI)       \
	VMOVUPS s1, 32(DI)     \
	ADDQ    R9, SI         \
	ADDQ    R8, DI

#define ZERO \
	VXORPS Y4, Y4, Y4 \
	VXORPS Y5, Y5, Y5 \
	VXORPS Y6, Y6, Y6 \
	VXORPS Y7, Y7, Y7 \
	VXORPS Y8, Y8, Y8 \
	VXORPS Y9, Y9, Y9 \
	VXORPS Y10, Y10, Y10 \
	VXORPS Y11, Y11, Y11 \
	VXORPS Y12, Y12, Y12 \
	VXORPS Y13, Y13, Y13 \
	VXORPS Y14, Y14, Y14 \
	VXORPS Y15, Y15, Y15

// BLOCKS reads the arguments: R10 is the first panel of A, R11 the bytes from one to the
// next, R12 how many there are, R13 the panel of B.
#define BLOCKS \
	MOVQ block+0(FP), DX \
	MOVQ 0(DX), R10      \
	MOVQ 8(DX), R13      \
	MOVQ 24(DX), DI      \
	MOVQ 32(DX), R8      \
	MOVQ 40(DX), SI      \
	MOVQ 48(DX), R9      \
	MOVQ 56(DX), R11     \
	MOVQ 64(DX), R12

// func add6x16(block *block)
TEXT ·add6x16(SB), NOSPLIT, $0-8
	BLOCKS

panel:
	MOVQ R10, AX
	MOVQ R13, BX
	MOVQ 16(DX), CX
	ZERO
	SUBQ $4, CX
	JLT  rest

loop:
	STEP(0)
	STEP(1)
	STEP(2)
	STEP(3)
	ADDQ $96, AX
	ADDQ $256, BX
	SUBQ $4, CX
	JGE  loop

rest:
	ADDQ $4, CX
	JZ   done

one:
	STEP(0)
	ADDQ $24, AX
	ADDQ $64, BX
	DECQ CX
	JNZ  one

done:
	PUT(Y4, Y5)
	PUT(Y6, Y7)
	PUT(Y8, Y9)
	PUT(Y10, Y11)
	PUT(Y12, Y13)
	PUT(Y14, Y15)
	ADDQ R11, R10
	DECQ R12
	JNZ  panel
	VZEROUPPER
	RET

// LINE adds the products of a line of A, of which the factor is at from.
#define LINE(from, s) \
	VBROADCASTSS from, Y1  \
	VFMADD231PS  Y0, Y1, s

#define STEP8(k) \
	VMOVUPS (64*k)(BX), Y0    \
	LINE((24*k)(AX), Y4)      \
	LINE((24*k+4)(AX), Y5)    \
	LINE((24*k+8)(AX), Y6)    \
	LINE((24*k+12)(AX), Y7)   \
	LINE((24*k+16)(AX), Y8)   \
	LINE((24*k+20)(AX), Y9)   \
	LINE((24*k)(R15), Y10)    \
	LINE((24*k+4)(R15), Y11)  \
	LINE((24*k+8)(R15), Y12)  \
	LINE((24*k+12)(R15), Y13) \
	LINE((24*k+16)(R15), Y14) \
	LINE((24*k+20)(R15), Y15)

#define PUT8(s) \
	VADDPS  (SI), s, s \
	VMOVUPS s, (DI)    \
	ADDQ    R9, SI     \
	ADDQ    R8, DI

// func add12x8(block *block)
//
// Two panels of A at a time, AX and R15, with the first eight lines of one of B.
TEXT ·add12x8(SB), NOSPLIT, $0-8
	BLOCKS

panels:
	MOVQ R10, AX
	LEAQ (R10)(R11*1), R15
	MOVQ R13, BX
	MOVQ 16(DX), CX
	ZERO
	SUBQ $2, CX
	JLT  rest

loop:
	STEP8(0)
	STEP8(1)
	ADDQ $48, AX
	ADDQ $48, R15
	ADDQ $128, BX
	SUBQ $2, CX
	JGE  loop

rest:
	ADDQ $2, CX
	JZ   done
	STEP8(0)

done:
	PUT8(Y4)
	PUT8(Y5)
	PUT8(Y6)
	PUT8(Y7)
	PUT8(Y8)
	PUT8(Y9)
	PUT8(Y10)
	PUT8(Y11)
	PUT8(Y12)
	PUT8(Y13)
	PUT8(Y14)
	PUT8(Y15)
	LEAQ (R10)(R11*2), R10
	SUBQ $2, R12
	JNZ  panels
	VZEROUPPER
	RET

// func packSixteenFloats(dst, src *float32, steps, from int)
//
// 16 lines that lie side by side: of each step 16 elements are copied; from is in
// bytes.
TEXT ·packSixteenFloats(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ steps+16(FP), CX
	MOVQ from+24(FP), R8

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ    R8, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// func packSixteenHalves(dst *float32, src *byte, steps, from int)
TEXT ·packSixteenHalves(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ steps+16(FP), CX
	MOVQ from+24(FP), R8

loop:
	VCVTPH2PS (SI), Y0
	VCVTPH2PS 16(SI), Y1
	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	ADDQ      R8, SI
	ADDQ      $64, DI
	DECQ      CX
	JNZ       loop
	VZEROUPPER
	RET
