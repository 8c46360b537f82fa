package layout

// A line of cells of a stable Bloom filter has 512/Bits cells of Bits bits: 256 of 2 or 128 of
// 4. It consists of Bits planes of N bits for N cells. Plane p has bit p of all cells, those of
// eighth e in its bits e*N/8 and up; bit b of a plane is bit b%64 of word b/64. So steps
// that are the same for all cells need few and narrow registers.
//
// A line of timers has 512/Bits timers of Bits bits: 64 of 8 or 32 of 16. Timer c lies in bits
// Bits*c up to Bits*(c+1) of the line, so that an eighth is a word. A timer holds 1 + t mod
// (2^Bits - 1) for the tick t when it was set, and 0 if it never was or was swept.
//
// An element has at most one cell, or timer, in each eighth of its line.

// MaxCellK is the most cells, or timers, that an element has.
const MaxCellK = 8
