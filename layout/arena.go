package layout

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"
)

// hugePage is the page size that the TLB covers far more memory with. Arenas
// of at least this size are aligned to it.
const hugePage = 2 << 20

// smallPage is the smallest page size of all systems.
const smallPage = 4 << 10

// populateStep is how much is populated at a time. Meanwhile the process gets no other memory,
// which would hold up goroutines that need some.
const populateStep = 2 * hugePage

// maxLines keeps every size computed from a line count, with room for
// alignment, within an int.
const maxLines = (math.MaxInt - hugePage) / LineSize

// ErrArenaSize is what NewArena's error wraps when no memory of the wanted
// size can exist.
var ErrArenaSize = errors.New("layout: arena size out of range")

// Arena is a fixed amount of memory in lines, each on an address divisible by
// LineSize. From 2 MiB on it starts on a 2 MiB boundary, and on Linux the
// kernel is asked for huge pages. There the memory lies outside of the Go heap,
// so that hundreds of megabytes of filter do not stretch the collector's pace;
// elsewhere it is an ordinary slice. An Arena has no locks of its own, but for Pin.
type Arena struct {
	lines   []Line
	mapping []byte       // what the last user gives back
	pins    atomic.Int32 // the owner until Close, and those that hold the lines
}

// NewArena returns n lines of zeros. Close gives the memory back; nothing
// else does. The error wraps ErrArenaSize if n is not between 1 and what can
// be addressed, or else the system's refusal.
func NewArena(n int) (*Arena, error) {
	if n < 1 || n > maxLines {
		return nil, fmt.Errorf("%w: %d lines", ErrArenaSize, n)
	}
	size, align := n*LineSize, LineSize
	if size >= hugePage {
		align = hugePage
	}
	mapping, err := mapMemory(size + align - LineSize)
	if err != nil {
		return nil, fmt.Errorf("layout: %d bytes of memory: %w", size, err)
	}
	base := unsafe.Pointer(unsafe.SliceData(mapping))
	skip := -uintptr(base) & uintptr(align-1)
	aligned := mapping[skip : int(skip)+size]
	if align == hugePage {
		adviseHuge(aligned)
	}
	lines := unsafe.Slice((*Line)(unsafe.Pointer(unsafe.SliceData(aligned))), n)
	a := &Arena{lines: lines, mapping: mapping}
	a.pins.Store(1)
	return a, nil
}

// Pin returns the lines, and keeps them and their content in place whatever Release and Close
// are asked for, until Unpin is called. It must come before Close; Unpin may come at any time, from
// any goroutine.
func (a *Arena) Pin() []Line {
	a.pins.Add(1)
	return a.lines
}

// Unpin ends a Pin, and gives the memory back if Close was called meanwhile.
func (a *Arena) Unpin() error {
	if a.pins.Add(-1) > 0 {
		return nil
	}
	mapping := a.mapping
	a.mapping = nil
	return unmapMemory(mapping)
}

// Lines returns the arena's memory, the same slice at each call and nil after
// Close.
func (a *Arena) Lines() []Line { return a.lines }

// Bytes returns the size of all lines: their number times LineSize.
func (a *Arena) Bytes() int { return len(a.lines) * LineSize }

// Clear sets all lines to zero.
func (a *Arena) Clear() { clear(a.lines) }

// Populate has the system back lines from to to-1 with memory now, which it otherwise
// does a page at a time when they are first used: a huge page takes it some 100 µs. What
// lines hold stays. It may be called while other goroutines use the lines.
func (a *Arena) Populate(from, to int) {
	for part := 0; from < to; from += part {
		part = min(populateStep/LineSize, to-from)
		if populate(a.bytes(from, from+part)) == nil {
			continue
		}
		for i := from; i < from+part; i += smallPage / LineSize {
			atomic.AddUint64(&a.lines[i][0], 0)
		}
	}
}

// Release gives back the memory of the lines before number to, which must not be used any
// more; from is what to was at the last call, or 0. That is done by huge pages, and not
// at all in arenas of less than one or that are held, nor on other systems than Linux.
func (a *Arena) Release(from, to int) {
	const lines = hugePage / LineSize
	from, to = from/lines*lines, to/lines*lines
	if from < to && a.pins.Load() == 1 {
		release(a.bytes(from, to))
	}
}

// bytes returns lines from to to-1, at least one.
func (a *Arena) bytes(from, to int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&a.lines[from])), (to-from)*LineSize)
}

// Close gives the memory back, once nobody holds it. The lines must not be used any
// more, by no slice of them but that of Pin. Further calls do nothing.
func (a *Arena) Close() error {
	if a.lines == nil {
		return nil
	}
	a.lines = nil
	return a.Unpin()
}

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
