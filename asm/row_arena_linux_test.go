package asm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// benchLines returns n lines of zeros, on huge pages where the kernel grants them.
func benchLines(b *testing.B, n int) [][8]uint64 {
	const huge = 2 << 20
	memory, err := unix.Mmap(-1, 0, 64*n+huge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { unix.Munmap(memory) })
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % huge
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) // kernels without them refuse
	lines := unsafe.Slice((*[8]uint64)(unsafe.Pointer(&memory[skip])), n)
	clear(lines)
	return lines
}
