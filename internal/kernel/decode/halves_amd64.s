#include "textflag.h"

// With arithmetic on fp16 numbers, a number is one product of an integer, which is
// exact, and the factor: rounded once, as it should be. The assembler does not know the
// instructions: they are spelled as bytes, and a test holds them to a disassembler.

#define VCVTW2PH_Z0 BYTE $0x62; BYTE $0xf5; BYTE $0x7e; BYTE $0x48; BYTE $0x7d; BYTE $0xc0 // VCVTW2PH Z0, Z0

#define VMULPH_Z9_Z0 BYTE $0x62; BYTE $0xd5; BYTE $0x7c; BYTE $0x48; BYTE $0x59; BYTE $0xc1 // VMULPH Z9, Z0, Z0

// ARGUMENTS reads lines8: R10 and R11 where the numbers and codes of a line are, BX and
// DX its factor and zero, R9 how many lines there are, AX the mask of the tail, K1.
#define ARGUMENTS \
	MOVQ  m+0(FP), R8 \
	MOVQ  0(R8), R10  \
	MOVQ  8(R8), R11  \
	MOVQ  16(R8), BX  \
	MOVQ  24(R8), DX  \
	MOVQ  32(R8), R9  \
	MOVQ  48(R8), AX  \
	KMOVD AX, K1

// LINE begins a line, NEXT goes to the next.
#define LINE \
	VBROADCASTSS (BX), X9    \
	VCVTPS2PH    $0, X9, X9  \
	VPBROADCASTW X9, Z9      \
	CVTTSS2SL    (DX), CX    \
	VPBROADCASTW CX, Z8      \
	ADDQ         $4, BX      \
	ADDQ         $4, DX      \
	MOVQ         R10, DI     \
	MOVQ         R11, SI     \
	MOVQ         40(R8), CX

#define NEXT(line) \
	ADDQ 56(R8), R10 \
	ADDQ 64(R8), R11 \
	DECQ R9          \
	JNZ  line

// NUMBERS makes numbers of integers.
#define NUMBERS \
	VPSUBW Z8, Z0, Z0 \
	VCVTW2PH_Z0       \
	VMULPH_Z9_Z0

// LINES writes fp16 numbers, 32 at a time.
#define LINES(widen) \
	ARGUMENTS                \
	                         \
line:                        \
	LINE                     \
	TESTQ CX, CX             \
	JZ    tail               \
	                         \
loop:                        \
	widen     (SI), Z0       \
	NUMBERS                  \
	VMOVDQU64 Z0, (DI)       \
	ADDQ      $32, SI        \
	ADDQ      $64, DI        \
	DECQ      CX             \
	JNZ       loop           \
	                         \
tail:                        \
	TESTQ      AX, AX        \
	JZ         next          \
	VMOVDQU8.Z (SI), K1, Y0  \
	widen      Y0, Z0        \
	NUMBERS                  \
	VMOVDQU16  Z0, K1, (DI)  \
	                         \
next:                        \
	NEXT(line)               \
	VZEROUPPER               \
	RET

// PARTS splits numbers, all of them normal or 0, into bf16 ones, and writes them. The
// high part has the exponent and seven bits, rounded: what is added before the other
// three are dropped depends on these and the one before them, and so does the low part,
// but for the exponent. K3 are numbers that are not 0, K4 those with a low part.
#define PARTS \
	VPTESTMW   Z19, Z0, K3         \
	VPTESTMW   Z23, Z0, K4         \
	VPERMW     Z16, Z0, Z1         \
	VPERMW     Z20, Z0, Z2         \
	VPANDD     Z21, Z0, Z3         \
	VPADDW     Z0, Z1, Z1          \
	VPSRLW     $3, Z3, Z3          \
	VPSRAW     $3, Z1, Z1          \
	VPTERNLOGD $0x78, Z22, Z0, Z2  \
	VPANDD     Z17, Z1, Z1         \
	VPADDW.Z   Z3, Z2, K4, Z2      \
	VPADDW     Z18, Z1, K3, Z1     \
	VMOVDQU64  Z1, (DI)            \
	VMOVDQU64  Z2, (DI)(R13*1)

#define WORD(n, z) \
	MOVL         $n, CX \
	VPBROADCASTW CX, z

// SPLIT writes the two parts of numbers, 32 at a time.
#define SPLIT(widen) \
	ARGUMENTS                      \
	MOVQ      72(R8), R12          \
	MOVQ      80(R8), R13          \
	VMOVDQU64 ·roundings(SB), Z16  \
	VMOVDQU64 ·lows(SB), Z20       \
	WORD(0x8fff, Z17)              \
	WORD(0x3800, Z18)              \
	WORD(0x7fff, Z19)              \
	WORD(0x7c00, Z21)              \
	WORD(0x8000, Z22)              \
	WORD(7, Z23)                   \
	                               \
line:                              \
	LINE                           \
	TESTQ CX, CX                   \
	JZ    tail                     \
	                               \
group:                             \
	widen (SI), Z0                 \
	NUMBERS                        \
	PARTS                          \
	ADDQ  $32, SI                  \
	ADDQ  R12, DI                  \
	DECQ  CX                       \
	JNZ   group                    \
	                               \
tail:                              \
	TESTQ       AX, AX             \
	JZ          next               \
	VMOVDQU8.Z  (SI), K1, Y0       \
	widen       Y0, Z0             \
	NUMBERS                        \
	VMOVDQU16.Z Z0, K1, Z0         \
	PARTS                          \
	                               \
next:                              \
	NEXT(line)                     \
	VZEROUPPER                     \
	RET

// func linesSignedHalves(m *lines8)
TEXT ·linesSignedHalves(SB), NOSPLIT, $0-8
	LINES(VPMOVSXBW)

// func linesUnsignedHalves(m *lines8)
TEXT ·linesUnsignedHalves(SB), NOSPLIT, $0-8
	LINES(VPMOVZXBW)

// func splitSignedHalves(m *lines8)
TEXT ·splitSignedHalves(SB), NOSPLIT, $0-8
	SPLIT(VPMOVSXBW)

// func splitUnsignedHalves(m *lines8)
TEXT ·splitUnsignedHalves(SB), NOSPLIT, $0-8
	SPLIT(VPMOVZXBW)
