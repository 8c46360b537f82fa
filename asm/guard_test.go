package asm

import (
	"testing"
	"unsafe"
)

// guardedOf returns n values in guarded memory; see guarded.
func guardedOf[T any](t testing.TB, n int, front bool) []T {
	var zero T
	b := guarded(t, n*int(unsafe.Sizeof(zero)), front)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
