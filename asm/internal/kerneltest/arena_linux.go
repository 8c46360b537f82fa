// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Lines returns lines of zeros, kib KiB in all, on huge pages where the kernel grants
// them.
func Lines(b *testing.B, kib int) [][8]uint64 {
	const huge = 2 << 20
	memory, err := unix.Mmap(-1, 0, kib<<10+huge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { unix.Munmap(memory) })
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % huge
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) // kernels without them refuse
	lines := unsafe.Slice((*[8]uint64)(unsafe.Pointer(&memory[skip])), kib<<10/64)
	clear(lines)
	return lines
}
