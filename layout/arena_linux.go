// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// systemHuge is the size of the system's huge pages.
var systemHuge = sync.OnceValue(func() int { return systemHugeIn(os.DirFS("/")) })

// systemHugeIn returns hugePage where huge pages are smaller: s390x has pages of 1 MiB.
func systemHugeIn(root fs.FS) int {
	const largest = 1 << 30
	n, err := strconv.Atoi(strings.Join(readLines(root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"), ""))
	if err != nil || n&(n-1) != 0 || n > largest {
		return hugePage
	}
	return max(n, hugePage)
}

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
		if b := unused.take(size); b != nil {
			clear(b)
			return b, nil
		}
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

// move needs Linux 5.7. If it fails, to may have lost its memory, and gets new memory of zeros.
func move(to, from []byte) bool {
	size := uintptr(len(from))
	_, err := unix.MremapPtr(unsafe.Pointer(&from[0]), size, unsafe.Pointer(&to[0]), size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED|unix.MREMAP_DONTUNMAP)
	if err == nil {
		return true
	}
	_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(&to[0]), size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED)
	adviseHuge(to)
	return false
}

func unmapMemory(b []byte) error {
	switch {
	case len(b) <= smallArena:
		return nil // the collector frees it
	case len(b) >= hugePage:
		return unix.Munmap(b)
	}
	var errs []error
	for _, old := range unused.put(b) {
		errs = append(errs, unix.Munmap(old))
	}
	return errors.Join(errs...)
}

// unused is the memory of closed arenas, for new arenas of the same size. Counters of short
// windows come and go by the thousand. To clear their memory takes a fraction of the time
// in which the system maps, clears and unmaps it.
var unused mappings

// maxUnused bounds the bytes of unused memory. A few counters of all sizes below a huge
// page have room there.
const maxUnused = 2 * hugePage

// mappings is populated memory of any content, the latest last. It is safe for concurrent
// use.
type mappings struct {
	mu    sync.Mutex
	all   [][]byte
	bytes int
}

// take removes size bytes, and returns them, or nil if there is no memory of that size.
func (m *mappings) take(size int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range slices.Backward(m.all) {
		if len(b) == size {
			m.all = slices.Delete(m.all, i, i+1)
			m.bytes -= size
			return b
		}
	}
	return nil
}

// put adds b. It removes the oldest memory beyond maxUnused, and returns it.
func (m *mappings) put(b []byte) (old [][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, b)
	m.bytes += len(b)
	n := 0
	for ; m.bytes > maxUnused; n++ {
		m.bytes -= len(m.all[n])
	}
	old = slices.Clone(m.all[:n])
	m.all = slices.Delete(m.all, 0, n)
	return old
}
