// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/layout"
)

const (
	lineBits   = 8 * layout.LineSize
	lineTimers = layout.LineSize / timerBytes
)

// store is the memory of a slice, in cache lines: bits, or timers. A timer is given by the
// unit in which it reaches zero, as in engine/paper. It is stored in 32 bits, counted from a
// base that moves on once in 2^31 units.
type store struct {
	arena *layout.Arena
	lines []layout.Line
	size  uint64 // bits or timers
	timed bool
	base  uint64
	ones  int // bits that are set

	placed  uint64   // positions that elements have set, counted for each element
	running *running // of timers in a slice of dynamic size, else nil
}

// newStore returns an empty store. It returns the errors of layout.NewArena.
func newStore(size int, timed bool) (store, error) {
	each := lineBits
	if timed {
		each = lineTimers
	}
	arena, err := layout.NewArena((size + each - 1) / each)
	if err != nil {
		return store{}, err
	}
	return store{arena: arena, lines: arena.Lines(), size: uint64(size), timed: timed}, nil
}

// touch reads the words of the positions that lie in this slice, which begins at lo.
func (s *store) touch(pos []uint64, lo uint64) (sum uint64) {
	each := uint64(lineBits)
	if s.timed {
		each = lineTimers
	}
	for _, p := range pos {
		if off := p - lo; off < s.size {
			sum += s.lines[off/each][0]
		}
	}
	return sum
}

// testAndSet sets a bit, and reports whether it was set.
func (s *store) testAndSet(off uint64) bool {
	word, bit := &s.lines[off/lineBits][off/64%8], uint64(1)<<(off%64)
	if *word&bit != 0 {
		return true
	}
	*word |= bit
	s.ones++
	return false
}

// get returns 1 for a bit that is set, or the unit in which a timer reaches zero, and else 0.
func (s *store) get(off uint64) uint64 {
	if !s.timed {
		return s.lines[off/lineBits][off/64%8] >> (off % 64) & 1
	}
	if v := uint64(uint32(s.lines[off/lineTimers][off/2%8] >> (32 * (off % 2)))); v > 0 {
		return s.base + v
	}
	return 0
}

// set sets a bit, or a timer that would reach zero earlier.
func (s *store) set(off, zeroAt uint64) {
	if !s.timed {
		s.testAndSet(off)
		return
	}
	old := s.get(off)
	if zeroAt <= old || zeroAt <= s.base {
		return
	}
	if s.running != nil && !s.running.move(old, zeroAt) {
		return
	}
	if zeroAt-s.base > math.MaxUint32 {
		s.rebase(zeroAt - min(zeroAt-1, 1<<31))
	}
	word, shift := &s.lines[off/lineTimers][off/2%8], 32*(off%2)
	*word = *word&^(math.MaxUint32<<shift) | (zeroAt-s.base)<<shift
}

// rebase moves the base. Timers that it passes have reached zero, as every window is
// shorter.
func (s *store) rebase(base uint64) {
	by := base - s.base
	less := func(v uint64) uint64 { return v - min(v, by) }
	for i := range s.lines {
		for j, w := range s.lines[i] {
			if w != 0 {
				s.lines[i][j] = less(w>>32)<<32 | less(w&math.MaxUint32)
			}
		}
	}
	s.base = base
}

// sampled is the number of timers in the sample that estimates how many run.
const sampled = 1 << 16

// isSet returns 1 for a bit that is set, or a timer that runs, and else 0.
func (s *store) isSet(off, now uint64) uint64 {
	if v := s.get(off); v > 0 && (!s.timed || v > now) {
		return 1
	}
	return 0
}

// fill returns the share of the bits that are set, or the share of a sample of timers that
// run.
func (s *store) fill(now uint64) float64 {
	if !s.timed {
		return float64(s.ones) / float64(s.size)
	}
	step, running, n := max(1, s.size/sampled), 0, 0
	for off := uint64(0); off < s.size; off += step {
		if n++; s.get(off) > now {
			running++
		}
	}
	return float64(running) / float64(n)
}

// save appends the lines to dst.
func (s *store) save(dst []byte) []byte {
	for i := range s.lines {
		for _, word := range s.lines[i] {
			dst = binary.LittleEndian.AppendUint64(dst, word)
		}
	}
	return dst
}

// restore takes the lines that save has appended, and counts what is set at present.
func (s *store) restore(saved []byte, now uint64) {
	s.ones = 0
	for i := range s.lines {
		for j := range s.lines[i] {
			w := binary.LittleEndian.Uint64(saved[layout.LineSize*i+8*j:])
			s.lines[i][j] = w
			s.ones += bits.OnesCount64(w)
		}
	}
	if s.running == nil {
		return
	}
	s.running = newRunning(uint64(len(s.running.due)), now)
	for off := range s.size {
		s.running.move(0, s.get(off))
	}
}
