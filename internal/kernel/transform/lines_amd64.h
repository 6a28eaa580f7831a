// Transforms of lines, of registers of any width.

// Byte offsets in factors4.
#define P 0
#define Q 4
#define PP 8
#define QQ 12
#define SUM 16
#define PRODUCT 20
#define PPP 24
#define QQQ 28

// LOADFACTORS loads what LINE4 multiplies with.
#define LOADFACTORS(p, q, pp, qq, sum, product) \
	LEAQ         ·factors4(SB), R11   \
	VBROADCASTSS P(R11), p            \
	VBROADCASTSS Q(R11), q            \
	VBROADCASTSS PP(R11), pp          \
	VBROADCASTSS QQ(R11), qq          \
	VBROADCASTSS SUM(R11), sum        \
	VBROADCASTSS PRODUCT(R11), product

// LINE4 is forward4 of v0 to v5. The values are in v0, v1, t6, v2, v4, v5.
#define LINE4(v0, v1, v2, v3, v4, v5, t6, t7, p, q, pp, qq, sum, product) \
	VMOVAPS      v4, t6           \
	VMOVAPS      v3, t7           \
	VFMADD213PS  v4, product, v0  \
	VFMADD231PS  v1, product, v5  \
	VFNMADD231PS v2, qq, t6       \
	VFNMADD231PS v1, qq, t7       \
	VFNMADD231PS v2, sum, v0      \
	VFNMADD231PS v3, sum, v5      \
	VFNMADD231PS v2, pp, v4       \
	VFNMADD231PS v1, pp, v3       \
	VMOVAPS      t6, v1           \
	VFMADD231PS  t7, p, v1        \
	VFNMADD231PS t7, p, t6        \
	VMOVAPS      v4, v2           \
	VFMADD231PS  v3, q, v2        \
	VFNMADD231PS v3, q, v4
