// What the kernels for cells have in common. Registers are those of common_amd64.h, but
// that R8 collects the elements that are found; R12 and R13 are the masks of runs
// after elements that are missed and that are found.

// BEGINCELLS leaves the rule in DX.
#define BEGINCELLS \
	BEGINHALVES                 \
	MOVQ r+32(FP), DX           \
	LEAQ CellRule_run(DX), R12  \
	LEAQ const_cellWindows(R12), R13

// JUDGE makes DX the masks of runs, by the cells that are not zero in FILLED and the
// element's own in OWN: it is found if none of these is missing, which sets the
// carry.
#define JUDGE(OWN, FILLED) \
	VPTEST  OWN, FILLED \
	MOVQ    R12, DX     \
	CMOVQCS R13, DX     \
	ADCQ    R8, R8

// ENDCELLS returns the elements that are found, and AX, by how much the number of
// cells that are not zero grew.
#define ENDCELLS \
	VZEROUPPER              \
	MOVQ R8, found+40(FP)   \
	MOVQ AX, filled+48(FP)  \
	RET
