// What the kernels for fingerprint rows have in common: the loop of lineloop_amd64.h
// over rows. R10 collects the elements whose row had an empty cell before, as R8 does
// those that were not found.

#include "lineloop_amd64.h"

// Where a rowBlock has its patterns and victims.
#define PATTERN 512
#define VICTIM 1024

// BEGIN leaves the eviction in AX.
#define BEGIN \
	BLOCK \
	MOVBLZX eviction+32(FP), AX

// LASTEMPTY collects whether the row's last cell is 0, AT bytes behind its first.
#define LASTEMPTY(CMP, AT) \
	CMP  AT(DI)(BX*1), $1 \
	ADCQ R10, R10

// MISS collects whether no cell matches: whether MATCH is 0.
#define MISS(CMP, MATCH) \
	CMP  MATCH, $1 \
	ADCQ R8, R8

// END returns R8, and the number of those whose row had an empty cell.
#define END \
	ANDQ R8, R10 \
	ENDALL

// ENDALL returns R8, and the number of elements whose row had an empty cell, found
// or not.
#define ENDALL \
	POPCNTQ R10, R10           \
	MOVQ    R8, missed+40(FP)  \
	MOVQ    R10, filled+48(FP) \
	RET
