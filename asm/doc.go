// Package asm holds the batch kernels: digests, and the test-and-set of lines.
// A kernel takes raw slices, chooses no parameters, keeps no state between
// calls and does not allocate. Each has one exported function, which checks its
// arguments, and one plain Go implementation named Generic, which every other
// implementation must equal bit for bit. Which one runs is decided once, by what
// the CPU has, and changes nothing but the time; the build tag purego leaves the
// plain ones alone.
package asm
