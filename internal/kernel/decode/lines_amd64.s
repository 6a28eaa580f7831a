#include "textflag.h"

// ARGUMENTS reads lines8: R10 and R11 where the numbers and codes of a line are, BX and
// DX its factor and zero, R9 how many lines there are, AX the mask of the tail.
#define ARGUMENTS \
	MOVQ m+0(FP), R8 \
	MOVQ 0(R8), R10  \
	MOVQ 8(R8), R11  \
	MOVQ 16(R8), BX  \
	MOVQ 24(R8), DX  \
	MOVQ 32(R8), R9  \
	MOVQ 48(R8), AX

// LINE begins a line, NEXT goes to the next.
#define LINE \
	VBROADCASTSS (BX), Z9   \
	VBROADCASTSS (DX), Z8   \
	ADDQ         $4, BX     \
	ADDQ         $4, DX     \
	MOVQ         R10, DI    \
	MOVQ         R11, SI    \
	MOVQ         40(R8), CX

#define NEXT(line) \
	ADDQ 56(R8), R10 \
	ADDQ 64(R8), R11 \
	DECQ R9          \
	JNZ  line

// LINES writes fp16 numbers, 16 at a time.
#define LINES(widen) \
	ARGUMENTS                      \
	KMOVW AX, K1                   \
	                               \
line:                              \
	LINE                           \
	TESTQ CX, CX                   \
	JZ    tail                     \
	                               \
loop:                              \
	widen       (SI), Z0           \
	VCVTDQ2PS   Z0, Z0             \
	VSUBPS      Z8, Z0, Z0         \
	VMULPS      Z9, Z0, Z0         \
	VCVTPS2PH   $0, Z0, (DI)       \
	ADDQ        $16, SI            \
	ADDQ        $32, DI            \
	DECQ        CX                 \
	JNZ         loop               \
	                               \
tail:                              \
	TESTQ       AX, AX             \
	JZ          next               \
	VMOVDQU8.Z  (SI), K1, X0       \
	widen       X0, Z0             \
	VCVTDQ2PS   Z0, Z0             \
	VSUBPS      Z8, Z0, Z0         \
	VMULPS      Z9, Z0, Z0         \
	VCVTPS2PH   $0, Z0, K1, (DI)   \
	                               \
next:                              \
	NEXT(line)                     \
	VZEROUPPER                     \
	RET

// HIGH makes the high part of numbers, and leaves the low one.
#define HIGH(x, high) \
	VPSRLD $16, x, high      \
	VPANDD Z16, high, high   \
	VPADDD Z17, high, high   \
	VPADDD x, high, high     \
	VPANDD Z18, high, high   \
	VSUBPS high, x, x

// PARTS splits the numbers of the codes Z0 and Z1, of which K1 and K2 are there, and
// writes them.
#define PARTS \
	VCVTDQ2PS Z0, Z0           \
	VCVTDQ2PS Z1, Z1           \
	VSUBPS    Z8, Z0, Z0       \
	VSUBPS    Z8, Z1, Z1       \
	VMULPS.Z  Z9, Z0, K1, Z0   \
	VMULPS.Z  Z9, Z1, K2, Z1   \
	VCVTPS2PH $0, Z0, Y2       \
	VCVTPS2PH $0, Z1, Y3       \
	VCVTPH2PS Y2, Z0           \
	VCVTPH2PS Y3, Z1           \
	HIGH(Z0, Z2)               \
	HIGH(Z1, Z3)               \
	VPSRLD    $16, Z2, Z2      \
	VPSRLD    $16, Z3, Z3      \
	VPSRLD    $16, Z0, Z0      \
	VPSRLD    $16, Z1, Z1      \
	VPACKUSDW Z3, Z2, Z2       \
	VPACKUSDW Z1, Z0, Z0       \
	VPERMQ    Z2, Z19, Z2      \
	VPERMQ    Z0, Z19, Z0      \
	VMOVDQU64 Z2, (DI)         \
	VMOVDQU64 Z0, (DI)(R13*1)

// SPLIT writes the two parts of numbers, 32 at a time.
#define SPLIT(widen) \
	ARGUMENTS                      \
	MOVQ         72(R8), R12       \
	MOVQ         80(R8), R13       \
	MOVL         $1, CX            \
	VPBROADCASTD CX, Z16           \
	MOVL         $0x7fff, CX       \
	VPBROADCASTD CX, Z17           \
	MOVL         $0xffff0000, CX   \
	VPBROADCASTD CX, Z18           \
	VMOVDQU64    order<>(SB), Z19  \
	KXNORW       K3, K3, K3        \
	KMOVW        AX, K4            \
	MOVQ         AX, CX            \
	SHRQ         $16, CX           \
	KMOVW        CX, K5            \
	                               \
line:                              \
	LINE                           \
	KMOVW        K3, K1            \
	KMOVW        K3, K2            \
	TESTQ        CX, CX            \
	JZ           tail              \
	                               \
group:                             \
	widen        (SI), Z0          \
	widen        16(SI), Z1        \
	PARTS                          \
	ADDQ         $32, SI           \
	ADDQ         R12, DI           \
	DECQ         CX                \
	JNZ          group             \
	                               \
tail:                              \
	TESTQ        AX, AX            \
	JZ           next              \
	KMOVW        K4, K1            \
	KMOVW        K5, K2            \
	VMOVDQU8.Z   (SI), K1, X0      \
	VMOVDQU8.Z   16(SI), K2, X1    \
	widen        X0, Z0            \
	widen        X1, Z1            \
	PARTS                          \
	                               \
next:                              \
	NEXT(line)                     \
	VZEROUPPER                     \
	RET

// order puts lanes of two registers that were packed one after the other.
DATA order<>+0(SB)/8, $0
DATA order<>+8(SB)/8, $2
DATA order<>+16(SB)/8, $4
DATA order<>+24(SB)/8, $6
DATA order<>+32(SB)/8, $1
DATA order<>+40(SB)/8, $3
DATA order<>+48(SB)/8, $5
DATA order<>+56(SB)/8, $7
GLOBL order<>(SB), RODATA|NOPTR, $64

// func linesSignedAVX512(m *lines8)
TEXT ·linesSignedAVX512(SB), NOSPLIT, $0-8
	LINES(VPMOVSXBD)

// func linesUnsignedAVX512(m *lines8)
TEXT ·linesUnsignedAVX512(SB), NOSPLIT, $0-8
	LINES(VPMOVZXBD)

// func splitSignedAVX512(m *lines8)
TEXT ·splitSignedAVX512(SB), NOSPLIT, $0-8
	SPLIT(VPMOVSXBD)

// func splitUnsignedAVX512(m *lines8)
TEXT ·splitUnsignedAVX512(SB), NOSPLIT, $0-8
	SPLIT(VPMOVZXBD)
