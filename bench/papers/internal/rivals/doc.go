// Package rivals measures the product's filters against modern ones at equal
// memory, on streams that are not the papers'. It shows which methods are worth
// choosing, ours or not.
//
// It holds reference implementations of the rivals that no paper of package
// engine/paper describes: plain, deterministic and slow. Where an element's cells
// may lie anywhere or in one line of 512 bits, a filter takes its lines and their
// size: a single line is the whole memory.
package rivals
