// Package layout holds what filters lie in: 64-byte lines in aligned memory, the
// sizes of the caches and of the memory that they should fit, and how exact rows are
// spread over more lines. It decides nothing about duplicates.
package layout
