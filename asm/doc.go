// Package asm holds the batch kernels: digests, and the test-and-set of lines.
// A kernel takes raw slices, chooses no parameters, keeps no state between
// calls and does not allocate. Each has one exported function, which checks its
// arguments, and one plain Go implementation named Generic, which every other
// implementation must equal bit for bit.
package asm
