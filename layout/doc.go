// Package layout holds what filters lie in: 64-byte lines in aligned memory,
// the sizes of the caches that such memory should fit, and the arithmetic that
// turns a digest into a line number. It decides nothing about duplicates.
package layout
