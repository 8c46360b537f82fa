// Package rivals compares the engine's filters with modern ones at equal memory, on
// streams that are not the papers'. It shows which methods are worth choosing.
//
// It holds reference implementations of the rivals that package engine/paper does not
// have: plain, deterministic and slow. If an element's cells may lie anywhere or in one
// line of 512 bits, a filter takes the number of lines and their size; a single line is
// the whole memory.
package rivals
