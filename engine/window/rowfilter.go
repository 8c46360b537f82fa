// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// rowFilter is what Timed and Coarse have in common: rows that follow the traffic, and a
// stream in blocks. R is the rows in the form that the kernel takes.
type rowFilter[R any] struct {
	rows   timedRows
	lines  int // number of lines, including spare ones
	memory int // bytes of all lines, including older ones
	tickSource
	blockEnd   uint64 // the position where the next block begins
	workingSet workingSet
	growth     growth[R]
	word       [1]uint64 // verdicts that begin within a word
}

// make makes the rows of an empty filter, in the given number of bytes.
func (f *rowFilter[R]) make(w Window, tick int64, memory, limit int) (err error) {
	if memory < layout.LineSize {
		return fmt.Errorf("%w: %d bytes, less than a line", engine.ErrMemory, memory)
	}
	if limit < 0 {
		return fmt.Errorf("%w: a limit of %d bytes", engine.ErrMemory, limit)
	}
	f.lines = memory / layout.LineSize
	if f.rows, err = newTimedRows(f.lines, !w.None); err != nil {
		return err
	}
	f.memory, f.tickSource = f.rows.arena.Bytes(), newTickSource(w, tick)
	if !w.None && limit > f.memory {
		f.growth.limit = limit
	}
	return nil
}

// Populate has the system back all memory now. Otherwise it does so page by page, at the
// first use of each. It returns the error of ctx, if ctx ends before.
func (f *rowFilter[R]) Populate(ctx context.Context) error { return mem.Populate(ctx, f.rows.arena) }

// GrowWhenReady makes the filter grow once the larger memory is prepared. Without it, the
// filter grows at a fixed element, and waits there for the memory. The elements that it
// forgets then depend on how fast the system gives memory, so this is for streams that
// cannot wait, such as live traffic.
func (f *rowFilter[R]) GrowWhenReady() { f.growth.whenReady = true }

// Close implements engine.PacketFilter.
func (f *rowFilter[R]) Close() error { return errors.Join(f.rows.arena.Close(), f.growth.close()) }

// part returns the number of elements, of n in a call, that the kernel takes at once from
// element from on: no more than the block has, and up to the end of a word of verdicts if
// they begin within it.
func (f *rowFilter[R]) part(from, n int) int {
	n = min(int(f.blockEnd-f.position), n-from, chunkElements)
	if from%64 != 0 {
		n = min(n, 64-from%64)
	}
	return n
}

// verdicts returns where the kernel writes the verdicts of a part: directly to seen, unless
// they begin within a word.
func (f *rowFilter[R]) verdicts(seen []uint64, from, n int) []uint64 {
	if from%64 != 0 {
		return f.word[:]
	}
	return seen[from/64 : (from+n+63)/64]
}

// put adds the verdicts of a part that begin within a word.
func (f *rowFilter[R]) put(seen []uint64, from int) {
	if from%64 != 0 {
		seen[from/64] |= f.word[0] << (from % 64)
	}
}

// rowState is the saved state that Timed and Coarse have in common. Its numbers are wider
// than the filter's, as a file could hold anything.
type rowState struct {
	window             Window
	lines              uint64
	refresh            bool
	limit              uint64
	all                uint64 // lines, with older ones
	position, blockEnd uint64
	workingSet         workingSet
	growth             growthState
}

// state returns the state to save.
func (f *rowFilter[R]) state(refresh bool) rowState {
	return rowState{
		window: f.kind, lines: uint64(f.lines), refresh: refresh, limit: uint64(f.growth.limit), all: uint64(f.memory / layout.LineSize),
		position: f.position, blockEnd: f.blockEnd, workingSet: f.workingSet, growth: f.growth.state(),
	}
}

// check returns an error unless a filter can have the lines and the window, within the
// memory of c.
func (s *rowState) check(c snapshot.RestoreConfig) error {
	if err := c.Allow(s.all); err != nil {
		return err
	}
	if s.lines == 0 || s.lines > s.all {
		return fmt.Errorf("%w: %d of %d lines", snapshot.ErrInvalid, s.lines, s.all)
	}
	if err := s.window.check(); err != nil {
		return fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
	}
	return nil
}

// bytes returns the memory of the current rows, and the limit of all rows: less than was
// saved if this machine has less memory.
func (s *rowState) bytes() (memory, limit int) {
	limit = max(layout.MemoryBudget(), int(s.all)*layout.LineSize)
	return int(s.lines) * layout.LineSize, int(min(s.limit, uint64(limit)))
}

// resume takes over the saved state of the stream, and makes the older rows.
func (f *rowFilter[R]) resume(s *rowState) error {
	if !f.workingSet.resume(&s.workingSet) {
		return snapshot.ErrInconsistent
	}
	if length := s.blockEnd - s.position; s.blockEnd < s.position || length > blockLength(f.lines) {
		return fmt.Errorf("%w: %d elements to the end of a block", snapshot.ErrInvalid, length)
	}
	f.position, f.blockEnd = s.position, s.blockEnd
	return f.growth.resume(&s.growth, s.all-uint64(f.lines), s.limit > 0 && !s.window.None)
}
