// Channels by themselves, with AVX2: eight places of a row at a time, the last under a
// mask.

//go:build amd64

#include "textflag.h"

// TAP adds a product: w·x, rounded, then the sum.
#define TAP(x, w) \
	VMULPS x, w, Y1  \
	VADDPS Y1, Y0, Y0

// PART is TAP of the last places of a row, of which Y6 is the mask.
#define PART(x, w) \
	VMASKMOVPS x, Y6, Y1 \
	VMULPS     Y1, w, Y1 \
	VADDPS     Y1, Y0, Y0

// FIRST is the first product: added to 0, it is rounded once, and -0 becomes 0, as for
// the others.
#define FIRST(x, w) \
	VXORPS      Y0, Y0, Y0 \
	VFMADD231PS x, w, Y0

#define FIRSTPART(x, w) \
	VXORPS Y0, Y0, Y0 \
	PART(x, w)

#define GRID(first, tap) \
	first((SI), Y7)       \
	tap((SI)(R10*1), Y8)  \
	tap((SI)(R11*1), Y9)  \
	LEAQ (SI)(R8*1), AX   \
	tap((AX), Y10)        \
	tap((AX)(R10*1), Y11) \
	tap((AX)(R11*1), Y12) \
	LEAQ (SI)(R9*1), AX   \
	tap((AX), Y13)        \
	tap((AX)(R10*1), Y14) \
	tap((AX)(R11*1), Y15) \
	BOUND

// BROADCASTS reads what the end of each sum takes: Y2 bias, Y3 lo, Y4 hi, Y5 zero.
#define BROADCASTS \
	VBROADCASTSS 0x68(DX), Y2 \
	VBROADCASTSS 0x6c(DX), Y3 \
	VBROADCASTSS 0x70(DX), Y4 \
	VBROADCASTSS 0x74(DX), Y5

#define BOUND \
	VADDPS Y2, Y0, Y0     \
	VMAXPS Y0, Y3, Y0     \
	VADDPS Y5, Y0, Y0     \
	VMINPS Y0, Y4, Y0

// TOHALF rounds Y0 to the fp16 numbers X0. A NaN is the quiet one, with its sign. Y1
// and Y6 are lost.
#define TOHALF \
	VCMPPS    $3, Y0, Y0, Y6       \
	VANDPS    signs<>(SB), Y0, Y1  \
	VORPS     nans<>(SB), Y1, Y1   \
	VBLENDVPS Y6, Y1, Y0, Y0       \
	VCVTPS2PH $0, Y0, X0

DATA signs<>+0(SB)/8, $0x8000000080000000
DATA signs<>+8(SB)/8, $0x8000000080000000
DATA signs<>+16(SB)/8, $0x8000000080000000
DATA signs<>+24(SB)/8, $0x8000000080000000
GLOBL signs<>(SB), RODATA|NOPTR, $32
DATA nans<>+0(SB)/8, $0x7fc000007fc00000
DATA nans<>+8(SB)/8, $0x7fc000007fc00000
DATA nans<>+16(SB)/8, $0x7fc000007fc00000
DATA nans<>+24(SB)/8, $0x7fc000007fc00000
GLOBL nans<>(SB), RODATA|NOPTR, $32

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

// LANES has in R14 the mask of the last places of a row of R12.
#define LANES \
	MOVQ R12, AX             \
	ANDQ $7, AX              \
	SHLQ $2, AX              \
	LEAQ lanes<>+32(SB), R14 \
	SUBQ AX, R14

// ENDROW writes the last 1 to 7 places, CX of them, of which Y6 is the mask. It goes on
// with the next row.
#define ENDROW(row, floats, two, one, next) \
	CMPQ       0x78(DX), $0 \
	JEQ        floats       \
	TOHALF                  \
	TESTQ      $4, CX       \
	JZ         two          \
	VMOVQ      X0, (DI)     \
	VPSRLDQ    $8, X0, X0   \
	ADDQ       $8, DI       \
	                        \
two:                        \
	TESTQ      $2, CX       \
	JZ         one          \
	VMOVD      X0, (DI)     \
	VPSRLDQ    $4, X0, X0   \
	ADDQ       $4, DI       \
	                        \
one:                        \
	TESTQ      $1, CX       \
	JZ         next         \
	VPEXTRW    $0, X0, (DI) \
	JMP        next         \
	                        \
floats:                     \
	VMASKMOVPS Y0, Y6, (DI) \
	                        \
next:                       \
	ADDQ 0x20(DX), R13      \
	ADDQ 0x28(DX), BX       \
	DECQ R15                \
	JNZ  row                \
	VZEROUPPER              \
	RET

// func gridAVX2(a *tapping)
//
// Registers as in gridAVX512; Y6 the mask of the last 1 to 7 places, Y7 to Y15 weights.
TEXT ·gridAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DX
	MOVQ 0x48(DX), R8
	MOVQ 0x50(DX), R9
	MOVQ 0x58(DX), R10
	MOVQ 0x60(DX), R11
	MOVQ 0x30(DX), AX
	VBROADCASTSS 0(AX), Y7
	VBROADCASTSS 4(AX), Y8
	VBROADCASTSS 8(AX), Y9
	VBROADCASTSS 12(AX), Y10
	VBROADCASTSS 16(AX), Y11
	VBROADCASTSS 20(AX), Y12
	VBROADCASTSS 24(AX), Y13
	VBROADCASTSS 28(AX), Y14
	VBROADCASTSS 32(AX), Y15
	BROADCASTS
	MOVQ 0x18(DX), R12
	LANES
	MOVQ 0x00(DX), BX
	MOVQ 0x08(DX), R13
	MOVQ 0x10(DX), R15

row:
	MOVQ R13, SI
	MOVQ BX, DI
	MOVQ R12, CX
	SUBQ $8, CX
	JLT  last
	CMPQ 0x78(DX), $0
	JNE  halves

vector:
	GRID(FIRST, TAP)
	VMOVUPS Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     vector
	JMP     last

halves:
	GRID(FIRST, TAP)
	TOHALF
	VMOVUPS X0, (DI)
	ADDQ    $32, SI
	ADDQ    $16, DI
	SUBQ    $8, CX
	JGE     halves

last:
	ADDQ    $8, CX
	JZ      next
	VMOVUPS (R14), Y6
	GRID(FIRSTPART, PART)
	ENDROW(row, floats, two, one, next)

// ANY begins a function with taps of any number, at any distance: R8 weights, R9 shifts,
// R10 taps, R11 counts them; the others as above.
#define ANY \
	MOVQ a+0(FP), DX     \
	MOVQ 0x30(DX), R8    \
	MOVQ 0x38(DX), R9    \
	MOVQ 0x40(DX), R10   \
	BROADCASTS           \
	MOVQ 0x18(DX), R12   \
	LANES                \
	MOVQ 0x00(DX), BX    \
	MOVQ 0x08(DX), R13   \
	MOVQ 0x10(DX), R15

// EIGHTS goes through the rows: begin makes Y0 before the first tap, tap takes Y1 to it.
#define EIGHTS(begin, tap) \
row:                              \
	MOVQ R13, SI                  \
	MOVQ BX, DI                   \
	MOVQ R12, CX                  \
	                              \
vector:                           \
	VPCMPEQD Y6, Y6, Y6           \
	CMPQ     CX, $8               \
	JGE      full                 \
	TESTQ    CX, CX               \
	JZ       next                 \
	VMOVUPS  (R14), Y6            \
	                              \
full:                             \
	begin                         \
	XORQ  R11, R11                \
	TESTQ R10, R10                \
	JZ    end                     \
	                              \
each:                             \
	MOVQ       (R9)(R11*8), AX    \
	VMASKMOVPS (SI)(AX*4), Y6, Y1 \
	tap                           \
	INCQ       R11                \
	CMPQ       R11, R10           \
	JLT        each               \
	                              \
end:                              \
	BOUND                         \
	CMPQ CX, $8                   \
	JLT  last                     \
	ADDQ $32, SI                  \
	SUBQ $8, CX                   \
	CMPQ 0x78(DX), $0             \
	JEQ  whole                    \
	TOHALF                        \
	VMOVUPS X0, (DI)              \
	ADDQ    $16, DI               \
	JMP     vector                \
	                              \
whole:                            \
	VMOVUPS Y0, (DI)              \
	ADDQ    $32, DI               \
	JMP     vector                \
	                              \
last:                             \
	ENDROW(row, floats, two, one, next)

#define NOTHING \
	VXORPS Y0, Y0, Y0

#define WEIGHTED \
	VBROADCASTSS (R8)(R11*4), Y7 \
	VMULPS       Y1, Y7, Y1      \
	VADDPS       Y1, Y0, Y0

// func tapsAVX2(a *tapping)
TEXT ·tapsAVX2(SB), NOSPLIT, $0-8
	ANY
	EIGHTS(NOTHING, WEIGHTED)

#define LOWEST \
	VMOVAPS Y9, Y0

// GREATER makes Y0 the greater of Y0 and Y1: NaN if either is, and 0 is greater than -0.
// Of two zeros, the instruction gives the second: with both, in both orders, there is
// a sign only if both have it.
#define GREATER \
	VMAXPS    Y1, Y0, Y7     \
	VMAXPS    Y0, Y1, Y8     \
	VANDPS    Y8, Y7, Y7     \
	VCMPPS    $3, Y1, Y0, Y8 \
	VADDPS    Y1, Y0, Y10    \
	VBLENDVPS Y8, Y10, Y7, Y0

// func maxAVX2(a *tapping)
//
// Y9 has -infinity.
TEXT ·maxAVX2(SB), NOSPLIT, $0-8
	ANY
	VPCMPEQD Y9, Y9, Y9
	VPSLLD   $23, Y9, Y9
	EIGHTS(LOWEST, GREATER)
