// Package layout holds what filters lie in: 64-byte lines in aligned memory, the
// sizes of the caches that such memory should fit, and how exact rows are
// spread over more lines. It decides nothing about duplicates.
package layout
