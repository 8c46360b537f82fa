// SPDX-License-Identifier: Apache-2.0

package layout

// A line of a stable Bloom filter of cells has N = 256 cells of 2 bits or N = 128 cells
// of 4 bits. The bits of a cell are apart: plane p, of N bits, has bit p of all cells. A
// step that is the same for all cells, such as a decrement, then takes few operations on
// narrow registers.
//
//	2 bits  word     0       1       2       3       4       5       6       7
//	             ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
//	             │ plane 0: low bits of 256 cells│ plane 1: high bits            │
//	             └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
//	4 bits       ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
//	             │ plane 0       │ plane 1       │ plane 2       │ plane 3       │
//	             └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
//
// A plane is divided into eight parts of N/8 cells, the eighths of the line: eighth e
// begins at bit e*N/8 of each plane. An element owns at most one cell in each eighth.
// Cell value 0 is empty. A line has no fixed capacity: new elements decrement the cells
// of old ones.

// MaxCellK is the most cells, or timers, that an element owns: one in each eighth.
const MaxCellK = 8
