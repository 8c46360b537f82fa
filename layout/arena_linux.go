// SPDX-License-Identifier: Apache-2.0

package layout

import "golang.org/x/sys/unix"

// mapMemory returns size bytes of zeros, page-aligned unless the arena is small. It
// refuses a size that the machine cannot back. Memory too small for huge pages is
// populated at once: elements soon touch all of its pages, and a fault for one page takes
// several times as long as a page populated with many others (in some virtual machines 10
// µs instead of 0.5).
func mapMemory(size int) ([]byte, error) {
	if size <= smallArena {
		return heapMemory(size), nil
	}
	flags := unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if size < hugePage {
		flags |= unix.MAP_POPULATE
	}
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
}

// adviseHuge asks for huge pages. Kernels without them refuse, which changes only the
// speed.
func adviseHuge(b []byte) {
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
}

// populate fails on kernels before 5.14, and where there is no memory left.
func populate(b []byte) error {
	return unix.Madvise(b, unix.MADV_POPULATE_WRITE)
}

// release leaves the addresses mapped, so a failure does no harm.
func release(b []byte) {
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}

func unmapMemory(b []byte) error {
	if len(b) <= smallArena {
		return nil // the collector frees it
	}
	return unix.Munmap(b)
}
