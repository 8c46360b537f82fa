// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"
)

// hugePage is the usual size of a huge page, with which the TLB covers far more memory. Arenas
// of at least this size are aligned to it, and arenas of at least systemHuge to systemHuge.
const hugePage = 2 << 20

// smallPage is the smallest page size of any system.
const smallPage = 4 << 10

// populateStep is how many bytes are populated at a time. The process gets no other
// memory meanwhile, so larger steps would stall goroutines that need some.
const populateStep = 2 * hugePage

// maxLines keeps the size of all lines within an int.
const maxLines = math.MaxInt / LineSize

// ErrArenaSize is wrapped by NewArena's error when no memory of that size can exist.
var ErrArenaSize = errors.New("layout: arena size out of range")

// Arena is a fixed amount of memory in lines, each at an address divisible by LineSize.
// An arena of 2 MiB or more starts on a 2 MiB boundary, and asks Linux for huge pages. Where these
// have 512 MiB, as with pages of 64 KiB on arm64, an arena as large starts on such a boundary. On
// Linux its memory lies outside of the Go heap, so hundreds of megabytes of filter do not
// change the pace of the collector; elsewhere it is an ordinary slice. An Arena has no
// locks: only Unpin may be called from any goroutine.
type Arena struct {
	lines   []Line
	mapping []byte       // the mapping, which the last Unpin unmaps
	align   int          // of the first line
	pins    atomic.Int32 // one for the owner until Close, and one for each Pin
}

// NewArena returns an arena of n lines of zeros. Only Close gives the memory back; a few
// MiB wait for further arenas of the same size. The error wraps ErrArenaSize if n is below 1
// or more than can be addressed, else the refusal of the system.
func NewArena(n int) (*Arena, error) {
	if n < 1 || n > maxLines || n*LineSize > math.MaxInt-alignment(n*LineSize) {
		return nil, fmt.Errorf("%w: %d lines", ErrArenaSize, n)
	}
	size, align := n*LineSize, alignment(n*LineSize)
	mapping, err := mapMemory(size + align - LineSize)
	if err != nil {
		return nil, fmt.Errorf("layout: %d bytes of memory: %w", size, err)
	}
	base := unsafe.Pointer(unsafe.SliceData(mapping))
	skip := -uintptr(base) & uintptr(align-1)
	aligned := mapping[skip : int(skip)+size]
	if align >= hugePage {
		adviseHuge(aligned)
	}
	lines := unsafe.Slice((*Line)(unsafe.Pointer(unsafe.SliceData(aligned))), n)
	a := &Arena{lines: lines, mapping: mapping, align: align}
	a.pins.Store(1)
	return a, nil
}

// alignment returns the alignment of an arena of size bytes.
func alignment(size int) int {
	switch {
	case size < hugePage:
		return LineSize
	case size < systemHuge():
		return hugePage
	}
	return systemHuge()
}

// Pin returns the lines, and keeps them and their content in place until Unpin is called,
// even after Release and Close. Pin must come before Close; Unpin may come at any time,
// from any goroutine.
func (a *Arena) Pin() []Line {
	a.pins.Add(1)
	return a.lines
}

// Unpin ends a Pin. It gives the memory back if no Pin is left and Close was
// called.
func (a *Arena) Unpin() error {
	if a.pins.Add(-1) > 0 {
		return nil
	}
	mapping := a.mapping
	a.mapping = nil
	return unmapMemory(mapping)
}

// Lines returns the memory of the arena: the same slice at each call, and nil after
// Close.
func (a *Arena) Lines() []Line { return a.lines }

// CheckOpen panics, with the name of the method that was called, after Close.
func (a *Arena) CheckOpen(method string) {
	if a.Lines() == nil {
		panic(method + " after Close")
	}
}

// Bytes returns the size of all lines: their number times LineSize.
func (a *Arena) Bytes() int { return len(a.lines) * LineSize }

// Populate makes the system back lines from to to-1 with memory now. Otherwise it does so
// when a page is first used, which takes some 100 µs for a huge page. The content of the
// lines stays. Other goroutines may use the lines meanwhile.
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
// more. from is the value of to at the last call, or 0. Release works on whole huge
// pages. It does nothing in smaller or pinned arenas, and on systems other than
// Linux.
func (a *Arena) Release(from, to int) {
	lines := max(a.align, hugePage) / LineSize
	from, to = from/lines*lines, to/lines*lines
	if from < to && a.pins.Load() == 1 {
		release(a.bytes(from, to))
	}
}

// Move gives the memory of lines from to to-1, which must not be used any more, to the lines of dst from
// at on, whose content is undefined afterwards. It moves whole huge pages, without a copy. It does nothing,
// and reports false, for other lines, in pinned arenas, and where the system cannot do it.
func (a *Arena) Move(from, to int, dst *Arena, at int) bool {
	return (from|to|at)%(hugePage/LineSize) == 0 && a.align == hugePage && dst.align == hugePage && a.pins.Load() == 1 &&
		move(dst.bytes(at, at+to-from), a.bytes(from, to))
}

// bytes returns lines from to to-1, at least one.
func (a *Arena) bytes(from, to int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&a.lines[from])), (to-from)*LineSize)
}

// Close gives the memory back once no Pin is left. From then on only slices that Pin
// returned may be used. Further calls do nothing.
func (a *Arena) Close() error {
	if a.lines == nil {
		return nil
	}
	a.lines = nil
	return a.Unpin()
}

// AdviseHuge asks Linux to back a slice of the Go heap with huge pages, if it takes some.
func AdviseHuge[T any](all []T) {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(all))), len(all)*int(unsafe.Sizeof(*new(T))))
	if skip := -uintptr(unsafe.Pointer(unsafe.SliceData(bytes))) % hugePage; len(bytes) >= 2*hugePage {
		adviseHuge(bytes[skip : len(bytes)-len(bytes)%hugePage])
	}
}

// smallArena is the size up to which arenas lie in the Go heap on all systems. Such
// arenas come and go with windows of few packets. To map and unmap memory for them would
// take many times as long as to allocate it.
const smallArena = 16 << 10

// heapMemory returns size bytes of zeros, aligned to LineSize. The collector never moves
// them, and never reads them since they hold no pointers.
func heapMemory(size int) []byte {
	b := make([]byte, size+LineSize-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (LineSize - 1))
	return b[skip : skip+size]
}
