// SPDX-License-Identifier: Apache-2.0

// Package kerneltest has what tests of kernels share: memory between guard pages, levels,
// golden files and clocks.
package kerneltest

import (
	"testing"
	"unsafe"
)

// Guarded returns n values in memory that ends at a page without access or, with front,
// that begins after such a page.
func Guarded[T any](t testing.TB, n int, front bool) []T {
	var zero T
	b := guarded(t, n*int(unsafe.Sizeof(zero)), front)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Part returns n of all values that Guarded returned, at the end with the guard page.
func Part[T any](all []T, n int, front bool) []T {
	if front {
		return all[:n]
	}
	return all[len(all)-n:]
}
