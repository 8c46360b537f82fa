package paper

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page.
const hugePage = 2 << 20

// adviseHugePages asks the kernel to back words with huge pages. Probes of a filter of
// hundreds of megabytes would spend most of their time in page tables otherwise.
func adviseHugePages(words []uint64) {
	if 8*len(words) < 2*hugePage {
		return
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(bytes))) % hugePage
	_ = unix.Madvise(bytes[skip:len(bytes)-len(bytes)%hugePage], unix.MADV_HUGEPAGE) // kernels without them refuse
}
