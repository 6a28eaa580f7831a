// Lanes of AVX2: ·lanes has eight that are there, then eight that are not.

// LANES8 has in y the lanes of n elements, at most 8; LANES4 in x those of at most 4.
#define LANES8(n, y) \
	LEAQ    ·lanes+32(SB), R10 \
	MOVQ    n, AX              \
	SHLQ    $2, AX             \
	SUBQ    AX, R10            \
	VMOVUPS (R10), y
