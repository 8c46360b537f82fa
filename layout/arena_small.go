package layout

import "unsafe"

// smallArena is the most that lies in the Go heap on all systems. Such arenas come and go with
// windows of few packets, and a mapping of their own, its first page and its end take many
// times as long as a piece of the heap.
const smallArena = 16 << 10

// heapMemory returns size bytes of zeros aligned to LineSize. The collector never moves
// them and, as they hold no pointers, never reads them.
func heapMemory(size int) []byte {
	b := make([]byte, size+LineSize-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (LineSize - 1))
	return b[skip : skip+size]
}
