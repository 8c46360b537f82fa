// Package kerneltest holds what the tests of kernels have in common: memory between guard
// pages, levels, golden files and clocks.
package kerneltest

import (
	"testing"
	"unsafe"
)

// Guarded returns n values in memory that ends where a page begins which nobody may touch,
// or, with front, that begins where such a page ends.
func Guarded[T any](t testing.TB, n int, front bool) []T {
	var zero T
	b := guarded(t, n*int(unsafe.Sizeof(zero)), front)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
