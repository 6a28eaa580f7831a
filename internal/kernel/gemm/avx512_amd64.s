// The blocks of the row avx512-12x32.
//
//	Z0 Z1    a factor of 16 or 32 lines of B
//	Z2 … Z5  a factor of four lines of A, each in all lanes
//	Z8 …     the sums: line by line of A, 16 lines of B in each
//
// Four factors are taken at a time, then what is left of the depth. The sums are
// added to C at the end.

//go:build amd64

#include "textflag.h"

// ARGUMENTS reads a block: A, B, the depth less 4, C, and the bytes from a row of C
// to the next; SI and R9 are the same of what the sums are added to.
#define ARGUMENTS \
	MOVQ block+0(FP), DX \
	MOVQ 0(DX), AX       \
	MOVQ 8(DX), BX       \
	MOVQ 16(DX), CX      \
	MOVQ 24(DX), DI      \
	MOVQ 32(DX), R8      \
	MOVQ 40(DX), SI      \
	MOVQ 48(DX), R9      \
	SUBQ $4, CX

#define ZERO4(a, b, c, d) \
	VPXORD a, a, a \
	VPXORD b, b, b \
	VPXORD c, c, c \
	VPXORD d, d, d

// B2 and B1 load factor k of B.
#define B2(k) \
	VMOVUPS (128*k)(BX), Z0    \
	VMOVUPS (128*k+64)(BX), Z1

#define B1(k) VMOVUPS (128*k)(BX), Z0

// A4 loads factor k of four lines of A, of which the first is l.
#define A4(k, l) \
	VBROADCASTSS (48*k+4*l)(AX), Z2    \
	VBROADCASTSS (48*k+4*l+4)(AX), Z3  \
	VBROADCASTSS (48*k+4*l+8)(AX), Z4  \
	VBROADCASTSS (48*k+4*l+12)(AX), Z5

// FOUR2 adds the products of four lines of A and 32 of B; FOUR1 those of 16.
#define FOUR2(k, l, s0, s1, s2, s3, s4, s5, s6, s7) \
	A4(k, l)               \
	VFMADD231PS Z0, Z2, s0 \
	VFMADD231PS Z1, Z2, s1 \
	VFMADD231PS Z0, Z3, s2 \
	VFMADD231PS Z1, Z3, s3 \
	VFMADD231PS Z0, Z4, s4 \
	VFMADD231PS Z1, Z4, s5 \
	VFMADD231PS Z0, Z5, s6 \
	VFMADD231PS Z1, Z5, s7

#define FOUR1(k, l, s0, s1, s2, s3) \
	A4(k, l)               \
	VFMADD231PS Z0, Z2, s0 \
	VFMADD231PS Z0, Z3, s1 \
	VFMADD231PS Z0, Z4, s2 \
	VFMADD231PS Z0, Z5, s3

// PUT2 and PUT1 put sums into a row of C, and go on to the next.
#define PUT2(s0, s1) \
	VADDPS  (SI), s0, s0   \
	VADDPS  64(SI), s1, s1 \
	VMOVUPS s0, (DI)       \
	VMOVUPS s1, 64(DI)     \
	ADDQ    R9, SI         \
	ADDQ    R8, DI

#define PUT1(s0) \
	VADDPS  (SI), s0, s0 \
	VMOVUPS s0, (DI)     \
	ADDQ    R9, SI       \
	ADDQ    R8, DI

#define NEXT(n) \
	ADDQ $(48*n), AX  \
	ADDQ $(128*n), BX

#define STEP12x32(k) \
	B2(k)                                               \
	FOUR2(k, 0, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)   \
	FOUR2(k, 4, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23) \
	FOUR2(k, 8, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)

#define STEP8x32(k) \
	B2(k)                                               \
	FOUR2(k, 0, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)   \
	FOUR2(k, 4, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)

#define STEP4x32(k) \
	B2(k)                                             \
	FOUR2(k, 0, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)

#define STEP12x16(k) \
	B1(k)                             \
	FOUR1(k, 0, Z8, Z9, Z10, Z11)     \
	FOUR1(k, 4, Z12, Z13, Z14, Z15)   \
	FOUR1(k, 8, Z16, Z17, Z18, Z19)

#define STEP8x16(k) \
	B1(k)                           \
	FOUR1(k, 0, Z8, Z9, Z10, Z11)   \
	FOUR1(k, 4, Z12, Z13, Z14, Z15)

#define STEP4x16(k) \
	B1(k)                         \
	FOUR1(k, 0, Z8, Z9, Z10, Z11)

// DEPTH goes through all factors: done is where it goes on.
#define DEPTH(step) \
	JLT  rest  \
	           \
loop:          \
	step(0)    \
	step(1)    \
	step(2)    \
	step(3)    \
	NEXT(4)    \
	SUBQ $4, CX \
	JGE  loop  \
	           \
rest:          \
	ADDQ $4, CX \
	JZ   done  \
	           \
one:           \
	step(0)    \
	NEXT(1)    \
	DECQ CX    \
	JNZ  one   \
	           \
done:

// func add12x32(block *block)
TEXT ·add12x32(SB), NOSPLIT, $0-8
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	ZERO4(Z20, Z21, Z22, Z23)
	ZERO4(Z24, Z25, Z26, Z27)
	ZERO4(Z28, Z29, Z30, Z31)
	ARGUMENTS
	DEPTH(STEP12x32)
	PUT2(Z8, Z9)
	PUT2(Z10, Z11)
	PUT2(Z12, Z13)
	PUT2(Z14, Z15)
	PUT2(Z16, Z17)
	PUT2(Z18, Z19)
	PUT2(Z20, Z21)
	PUT2(Z22, Z23)
	PUT2(Z24, Z25)
	PUT2(Z26, Z27)
	PUT2(Z28, Z29)
	PUT2(Z30, Z31)
	VZEROUPPER
	RET

// func add8x32(block *block)
TEXT ·add8x32(SB), NOSPLIT, $0-8
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	ZERO4(Z20, Z21, Z22, Z23)
	ARGUMENTS
	DEPTH(STEP8x32)
	PUT2(Z8, Z9)
	PUT2(Z10, Z11)
	PUT2(Z12, Z13)
	PUT2(Z14, Z15)
	PUT2(Z16, Z17)
	PUT2(Z18, Z19)
	PUT2(Z20, Z21)
	PUT2(Z22, Z23)
	VZEROUPPER
	RET

// func add4x32(block *block)
TEXT ·add4x32(SB), NOSPLIT, $0-8
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ARGUMENTS
	DEPTH(STEP4x32)
	PUT2(Z8, Z9)
	PUT2(Z10, Z11)
	PUT2(Z12, Z13)
	PUT2(Z14, Z15)
	VZEROUPPER
	RET

// func add12x16(block *block)
TEXT ·add12x16(SB), NOSPLIT, $0-8
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	ARGUMENTS
	DEPTH(STEP12x16)
	PUT1(Z8)
	PUT1(Z9)
	PUT1(Z10)
	PUT1(Z11)
	PUT1(Z12)
	PUT1(Z13)
	PUT1(Z14)
	PUT1(Z15)
	PUT1(Z16)
	PUT1(Z17)
	PUT1(Z18)
	PUT1(Z19)
	VZEROUPPER
	RET

// func add8x16(block *block)
TEXT ·add8x16(SB), NOSPLIT, $0-8
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ARGUMENTS
	DEPTH(STEP8x16)
	PUT1(Z8)
	PUT1(Z9)
	PUT1(Z10)
	PUT1(Z11)
	PUT1(Z12)
	PUT1(Z13)
	PUT1(Z14)
	PUT1(Z15)
	VZEROUPPER
	RET

// func add4x16(block *block)
TEXT ·add4x16(SB), NOSPLIT, $0-8
	ZERO4(Z8, Z9, Z10, Z11)
	ARGUMENTS
	DEPTH(STEP4x16)
	PUT1(Z8)
	PUT1(Z9)
	PUT1(Z10)
	PUT1(Z11)
	VZEROUPPER
	RET
