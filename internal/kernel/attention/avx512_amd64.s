// The inner loops of attention, with AVX-512.

//go:build amd64

#include "textflag.h"

#define ZERO4(a, b, c, d) \
	VPXORD a, a, a \
	VPXORD b, b, b \
	VPXORD c, c, c \
	VPXORD d, d, d

// func rowsAVX512(c *rowsCall)
//
//	DI SI  a row of each, BX CX what is left of both rows; R11 the rows left
TEXT ·rowsAVX512(SB), NOSPLIT, $0-8
	MOVQ   c+0(FP), DX
	MOVQ   0(DX), R12
	MOVQ   8(DX), R13
	MOVQ   16(DX), R8
	MOVQ   24(DX), R9
	MOVQ   32(DX), R11
	VPXORD Z31, Z31, Z31

row:
	MOVQ R12, DI
	MOVQ R13, SI
	MOVQ 40(DX), CX
	MOVQ 48(DX), BX
	SUBQ $32, CX
	JLT  rest

two:
	VCVTPH2PS (SI), Z0
	VCVTPH2PS 32(SI), Z1
	VMOVUPS   Z0, (DI)
	VMOVUPS   Z1, 64(DI)
	ADDQ      $64, SI
	ADDQ      $128, DI
	SUBQ      $32, BX
	SUBQ      $32, CX
	JGE       two

rest:
	ADDQ $32, CX
	JZ   fill

one:
	MOVL        $0xffff, AX
	CMPQ        CX, $16
	JGE         some
	MOVL        $1, AX
	SHLL        CX, AX
	DECL        AX

some:
	KMOVW       AX, K1
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	VMOVUPS     Z0, (DI)
	ADDQ        $32, SI
	ADDQ        $64, DI
	SUBQ        $16, BX
	SUBQ        $16, CX
	JGT         one

fill:
	SUBQ    $16, BX
	JLT     next
	VMOVUPS Z31, (DI)
	ADDQ    $64, DI
	JMP     fill

next:
	ADDQ R8, R12
	ADDQ R9, R13
	DECQ R11
	JNZ  row
	VZEROUPPER
	RET

// TRANSPOSE exchanges the rows and columns of the 16 by 16 floats in Z0 … Z15: pairs
// of elements, then quads of them, then the quarters of the registers.
#define PAIRS(a, b, lo, hi) \
	VUNPCKLPS b, a, lo \
	VUNPCKHPS b, a, hi

#define QUADS(a, b, lo, hi) \
	VUNPCKLPD b, a, lo \
	VUNPCKHPD b, a, hi

#define QUARTERS(a, b, even, odd) \
	VSHUFF32X4 $0x88, b, a, even \
	VSHUFF32X4 $0xdd, b, a, odd

#define TRANSPOSE \
	PAIRS(Z0, Z1, Z16, Z17)      \
	PAIRS(Z2, Z3, Z18, Z19)      \
	PAIRS(Z4, Z5, Z20, Z21)      \
	PAIRS(Z6, Z7, Z22, Z23)      \
	PAIRS(Z8, Z9, Z24, Z25)      \
	PAIRS(Z10, Z11, Z26, Z27)    \
	PAIRS(Z12, Z13, Z28, Z29)    \
	PAIRS(Z14, Z15, Z30, Z31)    \
	QUADS(Z16, Z18, Z0, Z1)      \
	QUADS(Z17, Z19, Z2, Z3)      \
	QUADS(Z20, Z22, Z4, Z5)      \
	QUADS(Z21, Z23, Z6, Z7)      \
	QUADS(Z24, Z26, Z8, Z9)      \
	QUADS(Z25, Z27, Z10, Z11)    \
	QUADS(Z28, Z30, Z12, Z13)    \
	QUADS(Z29, Z31, Z14, Z15)    \
	QUARTERS(Z0, Z4, Z16, Z17)   \
	QUARTERS(Z8, Z12, Z18, Z19)  \
	QUARTERS(Z1, Z5, Z20, Z21)   \
	QUARTERS(Z9, Z13, Z22, Z23)  \
	QUARTERS(Z2, Z6, Z24, Z25)   \
	QUARTERS(Z10, Z14, Z26, Z27) \
	QUARTERS(Z3, Z7, Z28, Z29)   \
	QUARTERS(Z11, Z15, Z30, Z31) \
	QUARTERS(Z16, Z18, Z0, Z8)   \
	QUARTERS(Z17, Z19, Z4, Z12)  \
	QUARTERS(Z20, Z22, Z1, Z9)   \
	QUARTERS(Z21, Z23, Z5, Z13)  \
	QUARTERS(Z24, Z26, Z2, Z10)  \
	QUARTERS(Z25, Z27, Z6, Z14)  \
	QUARTERS(Z28, Z30, Z3, Z11)  \
	QUARTERS(Z29, Z31, Z7, Z15)

// ROW reads 16 factors of a row, unless there is none.
#define ROW(z) \
	DECQ   BX             \
	JLT    turn           \
	VMULPS (SI), Z31, z   \
	ADDQ   R8, SI

// func turnAVX512(c *turnCall, lane int)
//
// 16 rows by 16 columns at a time. DI is where the column goes, R13 where the rows
// begin; CX the columns left, R11 the rows.
TEXT ·turnAVX512(SB), NOSPLIT, $0-16
	MOVQ c+0(FP), DX
	MOVQ lane+8(FP), AX
	MOVQ 0(DX), DI
	LEAQ (DI)(AX*4), DI
	MOVQ 8(DX), R13
	MOVQ 16(DX), R8
	MOVQ 24(DX), CX
	MOVQ 32(DX), R11
	SUBQ AX, R11
	IMULQ R8, AX
	ADDQ AX, R13

block:
	VBROADCASTSS 40(DX), Z31
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	MOVQ R13, SI
	MOVQ R11, BX
	ROW(Z0)
	ROW(Z1)
	ROW(Z2)
	ROW(Z3)
	ROW(Z4)
	ROW(Z5)
	ROW(Z6)
	ROW(Z7)
	ROW(Z8)
	ROW(Z9)
	ROW(Z10)
	ROW(Z11)
	ROW(Z12)
	ROW(Z13)
	ROW(Z14)
	ROW(Z15)

turn:
	TRANSPOSE
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, 128(DI)
	VMOVUPS Z2, 256(DI)
	VMOVUPS Z3, 384(DI)
	VMOVUPS Z4, 512(DI)
	VMOVUPS Z5, 640(DI)
	VMOVUPS Z6, 768(DI)
	VMOVUPS Z7, 896(DI)
	VMOVUPS Z8, 1024(DI)
	VMOVUPS Z9, 1152(DI)
	VMOVUPS Z10, 1280(DI)
	VMOVUPS Z11, 1408(DI)
	VMOVUPS Z12, 1536(DI)
	VMOVUPS Z13, 1664(DI)
	VMOVUPS Z14, 1792(DI)
	VMOVUPS Z15, 1920(DI)
	ADDQ    $2048, DI
	ADDQ    $64, R13
	SUBQ    $16, CX
	JGT     block
	VZEROUPPER
	RET

// The products: sums are in Z8 …, row by row, one or two vectors of each. Z0 and Z1
// are the vectors of a step, Z2 … Z5 factors of four rows, each in all lanes.

#define FOUR2(s0, s1, s2, s3, s4, s5, s6, s7) \
	VFMADD231PS Z0, Z2, s0 \
	VFMADD231PS Z1, Z2, s1 \
	VFMADD231PS Z0, Z3, s2 \
	VFMADD231PS Z1, Z3, s3 \
	VFMADD231PS Z0, Z4, s4 \
	VFMADD231PS Z1, Z4, s5 \
	VFMADD231PS Z0, Z5, s6 \
	VFMADD231PS Z1, Z5, s7

#define FOUR1(s0, s1, s2, s3) \
	VFMADD231PS Z0, Z2, s0 \
	VFMADD231PS Z0, Z3, s1 \
	VFMADD231PS Z0, Z4, s2 \
	VFMADD231PS Z0, Z5, s3

#define ZERO24 \
	ZERO4(Z8, Z9, Z10, Z11)   \
	ZERO4(Z12, Z13, Z14, Z15) \
	ZERO4(Z16, Z17, Z18, Z19) \
	ZERO4(Z20, Z21, Z22, Z23) \
	ZERO4(Z24, Z25, Z26, Z27) \
	ZERO4(Z28, Z29, Z30, Z31)

// Scores: a row is a key, a vector positions. The keys of now begin at R10, R11 and
// R12, four each; BX are the queries.

#define KEYS4(k, at) \
	VBROADCASTSS (4*k)(at), Z2         \
	VBROADCASTSS (4*k)(at)(R8*1), Z3   \
	VBROADCASTSS (4*k)(at)(R8*2), Z4   \
	VBROADCASTSS (4*k)(at)(R9*1), Z5

#define QUERIES2(k) \
	VMOVUPS (128*k)(BX), Z0    \
	VMOVUPS (128*k+64)(BX), Z1

#define QUERIES1(k) VMOVUPS (128*k)(BX), Z0

#define SCORES12x2(k) \
	QUERIES2(k)   \
	KEYS4(k, R10) \
	FOUR2(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)   \
	KEYS4(k, R11) \
	FOUR2(Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23) \
	KEYS4(k, R12) \
	FOUR2(Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)

#define SCORES8x2(k) \
	QUERIES2(k)   \
	KEYS4(k, R10) \
	FOUR2(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)   \
	KEYS4(k, R11) \
	FOUR2(Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)

#define SCORES4x2(k) \
	QUERIES2(k)   \
	KEYS4(k, R10) \
	FOUR2(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)

#define SCORES12x1(k) \
	QUERIES1(k)   \
	KEYS4(k, R10) \
	FOUR1(Z8, Z9, Z10, Z11)   \
	KEYS4(k, R11) \
	FOUR1(Z12, Z13, Z14, Z15) \
	KEYS4(k, R12) \
	FOUR1(Z16, Z17, Z18, Z19)

#define SCORES8x1(k) \
	QUERIES1(k)   \
	KEYS4(k, R10) \
	FOUR1(Z8, Z9, Z10, Z11)   \
	KEYS4(k, R11) \
	FOUR1(Z12, Z13, Z14, Z15)

#define SCORES4x1(k) \
	QUERIES1(k)   \
	KEYS4(k, R10) \
	FOUR1(Z8, Z9, Z10, Z11)

// DEPTH goes through the factors of keys, four at a time, then one by one.
#define DEPTH(step, loop, rest, one, done) \
	LEAQ (R10)(R8*4), R11 \
	LEAQ (R11)(R8*4), R12 \
	MOVQ 8(DX), BX        \
	MOVQ 32(DX), CX       \
	SUBQ $4, CX           \
	JLT  rest             \
	                      \
loop:                     \
	step(0)               \
	step(1)               \
	step(2)               \
	step(3)               \
	ADDQ $16, R10         \
	ADDQ $16, R11         \
	ADDQ $16, R12         \
	ADDQ $512, BX         \
	SUBQ $4, CX           \
	JGE  loop             \
	                      \
rest:                     \
	ADDQ $4, CX           \
	JZ   done             \
	                      \
one:                      \
	step(0)               \
	ADDQ $4, R10          \
	ADDQ $4, R11          \
	ADDQ $4, R12          \
	ADDQ $128, BX         \
	DECQ CX               \
	JNZ  one              \
	                      \
done:

// BIAS adds what a key has in SI to its sums: a number, or one for each position.
// PUT writes them.
#define BIAS2(l, s0, s1) \
	VADDPS.BCST (4*l)(SI), s0, s0 \
	VADDPS.BCST (4*l)(SI), s1, s1

#define EACH2(l, s0, s1) \
	VADDPS (128*l)(SI), s0, s0    \
	VADDPS (128*l+64)(SI), s1, s1

#define PUT2(l, s0, s1) \
	VMOVUPS s0, (128*l)(DI)    \
	VMOVUPS s1, (128*l+64)(DI)

#define BIAS1(l, s0) VADDPS.BCST (4*l)(SI), s0, s0

#define EACH1(l, s0) VADDPS (128*l)(SI), s0, s0

#define PUT1(l, s0) VMOVUPS s0, (128*l)(DI)

#define SUMS4x2(do) \
	do(0, Z8, Z9)   \
	do(1, Z10, Z11) \
	do(2, Z12, Z13) \
	do(3, Z14, Z15)

#define SUMS8x2(do) \
	SUMS4x2(do)     \
	do(4, Z16, Z17) \
	do(5, Z18, Z19) \
	do(6, Z20, Z21) \
	do(7, Z22, Z23)

#define SUMS12x2(do) \
	SUMS8x2(do)      \
	do(8, Z24, Z25)  \
	do(9, Z26, Z27)  \
	do(10, Z28, Z29) \
	do(11, Z30, Z31)

#define SUMS4x1(do) \
	do(0, Z8)  \
	do(1, Z9)  \
	do(2, Z10) \
	do(3, Z11)

#define SUMS8x1(do) \
	SUMS4x1(do) \
	do(4, Z12)  \
	do(5, Z13)  \
	do(6, Z14)  \
	do(7, Z15)

#define SUMS12x1(do) \
	SUMS8x1(do)  \
	do(8, Z16)   \
	do(9, Z17)   \
	do(10, Z18)  \
	do(11, Z19)

// FINISH adds the biases, if there are any, and writes the scores.
#define FINISH(sums, bias, each, put, number, write) \
	TESTQ SI, SI     \
	JZ    write      \
	CMPQ  56(DX), $0 \
	JE    number     \
	sums(each)       \
	JMP   write      \
	                 \
number:              \
	sums(bias)       \
	                 \
write:               \
	sums(put)

// KEYS goes through the keys, twelve at a time, then what is left.
//
//	AX the keys of now, R13 how many are left; DI their scores, SI their biases
#define KEYS(step12, step8, step4, sums12, sums8, sums4, bias, each, put) \
	MOVQ c+0(FP), DX     \
	MOVQ 0(DX), DI       \
	MOVQ 16(DX), AX      \
	MOVQ 24(DX), R8      \
	MOVQ 40(DX), R13     \
	MOVQ 48(DX), SI      \
	LEAQ (R8)(R8*2), R9  \
	                     \
panel:                   \
	CMPQ R13, $8         \
	JLE  few             \
	ZERO24               \
	MOVQ AX, R10         \
	DEPTH(step12, loop12, rest12, one12, done12)         \
	FINISH(sums12, bias, each, put, number12, write12)   \
	SUBQ $12, R13        \
	JLE  end             \
	ADDQ $1536, DI       \
	LEAQ (R9)(R9*2), R10 \
	ADDQ R9, R10         \
	ADDQ R10, AX         \
	TESTQ SI, SI         \
	JZ   panel           \
	ADDQ $48, SI         \
	CMPQ 56(DX), $0      \
	JE   panel           \
	ADDQ $1488, SI       \
	JMP  panel           \
	                     \
few:                     \
	ZERO24               \
	MOVQ AX, R10         \
	CMPQ R13, $4         \
	JLE  four            \
	DEPTH(step8, loop8, rest8, one8, done8)              \
	FINISH(sums8, bias, each, put, number8, write8)      \
	JMP  end             \
	                     \
four:                    \
	DEPTH(step4, loop4, rest4, one4, done4)              \
	FINISH(sums4, bias, each, put, number4, write4)      \
	                     \
end:                     \
	VZEROUPPER           \
	RET

// func scores32AVX512(c *scoresCall)
TEXT ·scores32AVX512(SB), NOSPLIT, $0-8
	KEYS(SCORES12x2, SCORES8x2, SCORES4x2, SUMS12x2, SUMS8x2, SUMS4x2, BIAS2, EACH2, PUT2)

// func scores16AVX512(c *scoresCall)
TEXT ·scores16AVX512(SB), NOSPLIT, $0-8
	KEYS(SCORES12x1, SCORES8x1, SCORES4x1, SUMS12x1, SUMS8x1, SUMS4x1, BIAS1, EACH1, PUT1)

// 2^f of 0 ≤ f < 1, 1 + f·(…), within 2^-23.
DATA ·exp2+0(SB)/4, $0x3f800000
DATA ·exp2+4(SB)/4, $0x3f31725d
DATA ·exp2+8(SB)/4, $0x3e75edab
DATA ·exp2+12(SB)/4, $0x3d648e73
DATA ·exp2+16(SB)/4, $0x3c13bc2a
DATA ·exp2+20(SB)/4, $0x3af4ba7e
GLOBL ·exp2(SB), RODATA|NOPTR, $24

// EXP2 makes of x its power of 2, in p, with f: of what is less than the whole
// number below x, times 2 to that.
#define EXP2(x, f, p) \
	VREDUCEPS   $9, x, f      \
	VMOVAPS     Z25, p        \
	VFMADD213PS Z24, f, p     \
	VFMADD213PS Z23, f, p     \
	VFMADD213PS Z22, f, p     \
	VFMADD213PS Z21, f, p     \
	VFMADD213PS Z20, f, p     \
	VSCALEFPS   x, p, p

// func powersAVX512(c *powersCall)
//
// 16 positions: Z0 is the greatest score before, Z1 the greatest, Z2 what scores
// are relative to, Z3 the sum, Z8 the scale.
TEXT ·powersAVX512(SB), NOSPLIT, $0-8
	MOVQ    c+0(FP), DX
	MOVQ    0(DX), DI
	MOVQ    8(DX), CX
	MOVQ    16(DX), R8
	MOVQ    24(DX), R9
	MOVQ    32(DX), R10
	VMOVUPS (R8), Z0
	VBROADCASTSS 40(DX), Z8
	MOVL    $0xff800000, AX
	VPBROADCASTD AX, Z1
	VMOVAPS Z1, Z4
	VMOVAPS Z1, Z5
	VMOVAPS Z1, Z6
	MOVQ    DI, SI
	MOVQ    CX, BX
	SUBQ    $4, BX
	JLT     few

max4:
	VMAXPS (SI), Z1, Z1
	VMAXPS 128(SI), Z4, Z4
	VMAXPS 256(SI), Z5, Z5
	VMAXPS 384(SI), Z6, Z6
	ADDQ   $512, SI
	SUBQ   $4, BX
	JGE    max4

few:
	ADDQ $4, BX
	JZ   found

max1:
	VMAXPS (SI), Z1, Z1
	ADDQ   $128, SI
	DECQ   BX
	JNZ    max1

found:
	VMAXPS       Z4, Z1, Z1
	VMAXPS       Z5, Z6, Z6
	VMAXPS       Z6, Z1, Z1
	VMULPS       Z8, Z1, Z1
	VMAXPS       Z0, Z1, Z1
	VMOVUPS      Z1, (R8)
	VPBROADCASTD AX, Z4
	VMOVAPS      Z1, Z2
	VCMPPS       $0, Z4, Z1, K1
	VPXORD       Z2, Z2, K1, Z2
	LEAQ         ·exp2(SB), SI
	VBROADCASTSS 0(SI), Z20
	VBROADCASTSS 4(SI), Z21
	VBROADCASTSS 8(SI), Z22
	VBROADCASTSS 12(SI), Z23
	VBROADCASTSS 16(SI), Z24
	VBROADCASTSS 20(SI), Z25
	VSUBPS       Z2, Z0, Z4
	EXP2(Z4, Z5, Z6)
	VMOVUPS      Z6, (R10)
	VPXORD       Z3, Z3, Z3
	VMULPS       (R9), Z6, Z7

power:
	VMOVUPS (DI), Z4
	VFMSUB213PS Z2, Z8, Z4
	EXP2(Z4, Z5, Z6)
	VMOVUPS Z6, (DI)
	VADDPS  Z6, Z3, Z3
	ADDQ    $128, DI
	DECQ    CX
	JNZ     power
	VADDPS  Z3, Z7, Z7
	VMOVUPS Z7, (R9)
	VZEROUPPER
	RET

// func downAVX512(c *downCall)
//
// Rows of 32 lanes, each lane with its factor.
TEXT ·downAVX512(SB), NOSPLIT, $0-8
	MOVQ    c+0(FP), DX
	MOVQ    0(DX), DI
	MOVQ    8(DX), CX
	MOVQ    16(DX), SI
	VMOVUPS (SI), Z0
	VMOVUPS 64(SI), Z1

row:
	VMULPS  (DI), Z0, Z2
	VMULPS  64(DI), Z1, Z3
	VMOVUPS Z2, (DI)
	VMOVUPS Z3, 64(DI)
	ADDQ    $128, DI
	DECQ    CX
	JNZ     row
	VZEROUPPER
	RET

// Values: a row is a position, a vector columns. Powers of four positions from l on
// are at AX, of which a key has 128 bytes; the values of a key are at BX.

#define POWERS4(k, l) \
	VBROADCASTSS (128*k+4*l)(AX), Z2    \
	VBROADCASTSS (128*k+4*l+4)(AX), Z3  \
	VBROADCASTSS (128*k+4*l+8)(AX), Z4  \
	VBROADCASTSS (128*k+4*l+12)(AX), Z5

#define VALUES12x2(k) \
	POWERS4(k, 0) \
	FOUR2(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)   \
	POWERS4(k, 4) \
	FOUR2(Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23) \
	POWERS4(k, 8) \
	FOUR2(Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)

#define VALUES8x2(k) \
	POWERS4(k, 0) \
	FOUR2(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)   \
	POWERS4(k, 4) \
	FOUR2(Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)

#define VALUES4x2(k) \
	POWERS4(k, 0) \
	FOUR2(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)

#define VALUES12x1(k) \
	POWERS4(k, 0) \
	FOUR1(Z8, Z9, Z10, Z11)   \
	POWERS4(k, 4) \
	FOUR1(Z12, Z13, Z14, Z15) \
	POWERS4(k, 8) \
	FOUR1(Z16, Z17, Z18, Z19)

#define VALUES8x1(k) \
	POWERS4(k, 0) \
	FOUR1(Z8, Z9, Z10, Z11)   \
	POWERS4(k, 4) \
	FOUR1(Z12, Z13, Z14, Z15)

#define VALUES4x1(k) \
	POWERS4(k, 0) \
	FOUR1(Z8, Z9, Z10, Z11)

#define VALUE2(at0, at1) \
	VMOVUPS at0, Z0 \
	VMOVUPS at1, Z1

#define VALUE1(at0, at1) VMOVUPS at0, Z0

// DOWN scales down a result of before, and adds it.
#define DOWN2(l, s0, s1) \
	VBROADCASTSS (4*l)(R11), Z2 \
	VFMADD231PS  (DI), Z2, s0   \
	VFMADD231PS  64(DI), Z2, s1 \
	VMOVUPS      s0, (DI)       \
	VMOVUPS      s1, 64(DI)     \
	ADDQ         R8, DI

#define DOWN1(l, s0) \
	VBROADCASTSS (4*l)(R11), Z2 \
	VFMADD231PS  (DI), Z2, s0   \
	VMOVUPS      s0, (DI)       \
	ADDQ         R8, DI

// VALUES goes through the keys, four at a time, then one by one.
#define VALUES(step, value, sums, down) \
	MOVQ c+0(FP), DX    \
	MOVQ 0(DX), DI      \
	MOVQ 8(DX), AX      \
	MOVQ 16(DX), BX     \
	MOVQ 24(DX), R8     \
	MOVQ 32(DX), CX     \
	MOVQ 40(DX), R11    \
	LEAQ (R8)(R8*2), R9 \
	ZERO24              \
	SUBQ $4, CX         \
	JLT  rest           \
	                    \
loop:                   \
	value((BX), 64(BX)) \
	step(0)             \
	value((BX)(R8*1), 64(BX)(R8*1)) \
	step(1)             \
	value((BX)(R8*2), 64(BX)(R8*2)) \
	step(2)             \
	value((BX)(R9*1), 64(BX)(R9*1)) \
	step(3)             \
	ADDQ $512, AX       \
	LEAQ (BX)(R8*4), BX \
	SUBQ $4, CX         \
	JGE  loop           \
	                    \
rest:                   \
	ADDQ $4, CX         \
	JZ   done           \
	                    \
one:                    \
	value((BX), 64(BX)) \
	step(0)             \
	ADDQ $128, AX       \
	ADDQ R8, BX         \
	DECQ CX             \
	JNZ  one            \
	                    \
done:                   \
	sums(down)          \
	VZEROUPPER          \
	RET

// func values12x32(c *valuesCall)
TEXT ·values12x32(SB), NOSPLIT, $0-8
	VALUES(VALUES12x2, VALUE2, SUMS12x2, DOWN2)

// func values8x32(c *valuesCall)
TEXT ·values8x32(SB), NOSPLIT, $0-8
	VALUES(VALUES8x2, VALUE2, SUMS8x2, DOWN2)

// func values4x32(c *valuesCall)
TEXT ·values4x32(SB), NOSPLIT, $0-8
	VALUES(VALUES4x2, VALUE2, SUMS4x2, DOWN2)

// func values12x16(c *valuesCall)
TEXT ·values12x16(SB), NOSPLIT, $0-8
	VALUES(VALUES12x1, VALUE1, SUMS12x1, DOWN1)

// func values8x16(c *valuesCall)
TEXT ·values8x16(SB), NOSPLIT, $0-8
	VALUES(VALUES8x1, VALUE1, SUMS8x1, DOWN1)

// func values4x16(c *valuesCall)
TEXT ·values4x16(SB), NOSPLIT, $0-8
	VALUES(VALUES4x1, VALUE1, SUMS4x1, DOWN1)

// func putAVX512(c *putCall)
//
// NaN becomes the quiet one with its sign, as everywhere.
TEXT ·putAVX512(SB), NOSPLIT, $0-8
	MOVQ c+0(FP), DX
	MOVQ 0(DX), R12
	MOVQ 8(DX), R13
	MOVQ 16(DX), R8
	MOVQ 24(DX), R9
	MOVQ 32(DX), R11
	MOVQ 48(DX), R10
	MOVL $0x80000000, AX
	VPBROADCASTD AX, Z6
	MOVL $0x7fc00000, AX
	VPBROADCASTD AX, Z7

row:
	MOVQ         R12, DI
	MOVQ         R13, SI
	MOVQ         40(DX), CX
	VBROADCASTSS (R10), Z2

next:
	MOVL $0xffff, AX
	CMPQ CX, $16
	JGE  some
	MOVL $1, AX
	SHLL CX, AX
	DECL AX

some:
	KMOVW     AX, K1
	VMULPS.Z  (SI), Z2, K1, Z0
	VCMPPS    $3, Z0, Z0, K2
	VPANDD    Z6, Z0, Z1
	VPORD     Z7, Z1, K2, Z0
	VCVTPS2PH $0, Z0, Y0
	VMOVDQU16 Y0, K1, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JGT       next
	ADDQ      R8, R12
	ADDQ      R9, R13
	ADDQ      $4, R10
	DECQ      R11
	JNZ       row
	VZEROUPPER
	RET
