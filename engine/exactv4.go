package engine

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// minExactV4Lines is the smallest start: 4 KiB for 768 addresses before it grows.
const minExactV4Lines = 64

// ExactV4 remembers IPv4 addresses exactly, at one cache line an address.
//
// A keyed permutation scatters the addresses over lines, and a line stores what
// the line number leaves of them (asm.TestAndSetExact32), so nothing is ever
// confused: no false positives, no false negatives, for any number of addresses.
// 8 MiB remember 3 million addresses.
//
// Rows are at most three quarters full on average. At that load 2.1 % of the
// addresses find 16 cells taken and 0.5 % find 32 taken (the excess of a Poisson
// variable); these go to a small hash table. Growth doubles the lines: each
// line is split in two by one more bit of the permuted address, nothing is
// hashed again. It takes old and new memory together while it lasts, and
// stops at a bitmap of all 2^32 addresses (512 MiB), which 100 million addresses
// justify.
//
// Someone who knows the key can aim at one line, and at one place of the hash
// table; then memory stays in proportion to the number of addresses and
// verdicts stay exact, but time does not stay constant. Keys are secret for that
// reason.
type ExactV4 struct {
	exactLines
	permute  asm.Bijection
	spilled  spillSet[uint32]
	maxLines int // lines after which a bitmap follows
	permuted [counterStep]uint32
}

var _ Counter[uint32] = (*ExactV4)(nil)

// NewExactV4 returns an empty counter. The key is secret and chooses the
// permutation. memory is what the rows take at the start, in bytes: it is
// rounded down to a power of two and kept between 4 KiB and 256 MiB; 0 is a
// good choice where the number of addresses is unknown. The error is that of the
// memory's allocation.
func NewExactV4(key [16]byte, memory int) (*ExactV4, error) {
	lines := min(max(memory/layout.LineSize, minExactV4Lines), layout.MaxExactLines)
	e := &ExactV4{permute: *asm.NewBijection(key), spilled: newSpillSet[uint32](key), maxLines: layout.MaxExactLines}
	e.first, e.newArena = 1<<(bits.Len(uint(lines))-1), layout.NewArena
	arena, err := e.newArena(e.first)
	if err != nil {
		return nil, fmt.Errorf("exact rows of %d lines: %w", e.first, err)
	}
	e.use(arena)
	return e, nil
}

// use takes lines over and sets the number of addresses at which they grow.
func (e *ExactV4) use(arena *layout.Arena) {
	e.arena = arena
	lines := len(arena.Lines())
	e.limit = uint64(lines) * uint64(layout.ExactCells(lines)) / 4 * 3
	if lines == layout.ExactBitLines {
		e.limit = math.MaxUint64
	}
}

// TestAndSet is as Counter says. It allocates only when the rows grow.
func (e *ExactV4) TestAndSet(seen []uint64, addrs []uint32) {
	clearBits(seen, len(addrs))
	for at := 0; at < len(addrs); {
		if e.position == counterStep {
			e.position = 0
			if e.count >= e.limit {
				e.grow()
			}
		}
		n := min(counterStep-e.position, len(addrs)-at)
		e.step(addrs[at : at+n])
		orBits(seen, at, e.seen[:], n)
		e.position += n
		at += n
	}
}

// step handles at most counterStep addresses between two decisions; their
// verdicts are left in e.seen.
func (e *ExactV4) step(addrs []uint32) {
	permuted := e.permuted[:len(addrs)]
	e.permute.Permute(permuted, addrs)
	spills := e.rows(permuted)
	for _, i := range e.spills[:spills] {
		if e.spilled.testAndSet(permuted[i]) {
			e.seen[i/64] |= 1 << (i % 64)
		}
	}
	e.book(len(addrs))
}

// rows tests and sets permuted addresses in the lines; verdicts go to e.seen, and
// the positions of those without a cell to e.spills.
func (e *ExactV4) rows(permuted []uint32) (spills int) {
	lines := e.arena.Lines()
	switch {
	case len(lines) == layout.ExactBitLines:
		asm.TestAndSetExactBits(lines, e.seen[:], permuted)
		return 0
	case len(lines) >= asm.Exact16Lines:
		return asm.TestAndSetExact16(lines, e.seen[:], permuted, e.spills[:])
	default:
		return asm.TestAndSetExact32(lines, e.seen[:], permuted, e.spills[:])
	}
}

// grow doubles the lines, or turns the last rows into a bitmap. If there is no
// memory for it, further addresses go to the hash table and growth is tried again
// when there are twice as many.
func (e *ExactV4) grow() {
	old := e.arena
	lines := 2 * len(old.Lines())
	if lines > e.maxLines {
		lines = layout.ExactBitLines
	}
	arena, err := e.newArena(lines)
	if err != nil {
		e.limit *= 2
		return
	}
	if lines == layout.ExactBitLines {
		layout.ExactRowsToBits(arena.Lines(), old.Lines())
	} else {
		layout.SplitExactRows(arena.Lines(), old.Lines())
	}
	e.use(arena)
	old.Close()
	e.retry()
}

// retry gives spilled addresses their place in new lines. e.permuted and e.seen
// are free between two steps.
func (e *ExactV4) retry() {
	before := e.spilled
	e.spilled = before.empty()
	n := 0
	flush := func() {
		for _, i := range e.spills[:e.rows(e.permuted[:n])] {
			e.spilled.testAndSet(e.permuted[i])
		}
		n = 0
	}
	for y := range before.all {
		e.permuted[n] = y
		if n++; n == counterStep {
			flush()
		}
	}
	flush()
}

// Counts is as Counter says; the count is exact.
func (e *ExactV4) Counts() Counts {
	return Counts{
		Distinct: e.count, Low: e.count, High: e.count,
		MemoryBytes: e.arena.Bytes() + e.spilled.bytes(),
		Method:      "exact-rows",
	}
}

// Reset is as Counter says. A counter that cannot have its first lines back keeps
// those it has.
func (e *ExactV4) Reset() {
	e.spilled = e.spilled.empty()
	e.use(e.restart())
}
