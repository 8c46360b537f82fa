// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/asm/permute"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// minIPv4Lines is the smallest start: 4 KiB for 768 addresses before it grows.
const minIPv4Lines = 64

// IPv4Rows remembers IPv4 addresses exactly. An address costs one cache line.
//
// A keyed permutation scatters the addresses over lines, and a line stores the bits that
// its number does not imply (line.TestAndSetExact32). So there are neither false
// positives nor false negatives, for any number of addresses. 8 MiB remember 3 million
// addresses.
//
// Rows are at most three quarters full on average. At that load 2.1 % of the addresses
// find 16 cells taken and 0.5 % find 32 taken (the excess of a Poisson variable). These
// go to small hash tables. Growth doubles the lines: one more bit of the permuted address
// splits each line in two, and nothing is hashed again. The work is spread over the
// elements that follow, 4096 cells every 512 elements, and lines that moved return their
// memory at once. Growth ends at a bitmap of all 2^32 addresses (512 MiB), which pays
// from 100 million addresses on, or at the Limit. Beyond the Limit a sample is counted.
//
// Keys must be secret. An adversary who knows the key can aim at one line, and at one
// place of the hash tables. Then verdicts stay exact, and memory stays in proportion to
// the number of addresses, but an address may take more than constant time.
type IPv4Rows struct {
	exactRows[uint32, uint32]
	permute  permute.Bijection
	permuted [rowtable.Step]uint32
}

var _ engine.Counter[uint32] = (*IPv4Rows)(nil)

var ipv4Kind = exactKind[uint32, uint32]{
	name: "exact rows", method: "exact-rows", width: 32,
	testAndSet: testAndSetPermuted, move: movePermuted, thin: line.SampleExactRows,
	word: func(y uint32) uint32 { return y }, element: func(y uint32) uint32 { return y },
	words: exactWords, growAt: ipv4GrowAt, cells: layout.ExactCells,
}

// NewIPv4Rows returns an empty counter. The key is secret and chooses the permutation.
// memory is the initial size of the rows, in bytes, rounded down to a power of two from 4
// KiB to 256 MiB. 0 is a good choice where the number of addresses is unknown. It returns
// the error of layout.NewArena.
func NewIPv4Rows(key [16]byte, memory int) (*IPv4Rows, error) {
	lines := min(max(memory/layout.LineSize, minIPv4Lines), layout.MaxExactLines)
	e := &IPv4Rows{permute: *permute.NewBijection(key)}
	first := 1 << (bits.Len(uint(lines)) - 1)
	if err := e.start(&ipv4Kind, first, layout.MaxExactLines, rowtable.KeyedFactor(key)); err != nil {
		return nil, err
	}
	return e, nil
}

// ipv4GrowAt returns the number of addresses at which the given number of lines grow:
// three quarters of their cells. A bitmap never grows.
func ipv4GrowAt(lines int) uint64 {
	if lines == layout.BitmapLines {
		return math.MaxUint64
	}
	return uint64(lines) * uint64(layout.ExactCells(lines)) / 4 * 3
}

// testAndSetPermuted tests and sets permuted addresses in any number of lines.
func testAndSetPermuted(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int {
	switch {
	case len(lines) == layout.BitmapLines:
		line.TestAndSetBitmap(lines, seen, permuted)
		return 0
	case len(lines) >= layout.Exact16Lines:
		return line.TestAndSetExact16(lines, seen, permuted, overflow)
	default:
		return line.TestAndSetExact32(lines, seen, permuted, overflow)
	}
}

// movePermuted moves lines to twice as many, or to a bitmap.
func movePermuted(dst, src []layout.Line, from, to int) {
	if len(dst) == layout.BitmapLines {
		line.ExactRowsToBitmap(dst, src, from, to)
	} else {
		line.SplitExactRows(dst, src, from, to)
	}
}

// Reset makes the counter as NewIPv4Rows(key, 0) returns it, for another use of its memory. It does
// nothing, and reports false, if the counter has grown or began larger.
func (e *IPv4Rows) Reset() bool { return e.reset(minIPv4Lines) }

// TestAndSet is as engine.Counter says. It allocates only when the rows grow.
func (e *IPv4Rows) TestAndSet(seen []uint64, addrs []uint32) {
	bitset.Clear(seen, len(addrs))
	e.unsampled = 0
	for at := 0; at < len(addrs); {
		n := e.untilDecision(len(addrs) - at)
		permuted := e.permuted[:n]
		e.permute.Permute(permuted, addrs[at:at+n])
		e.step(seen, at, permuted)
		at += n
	}
}

// Counts is as engine.Counter says. The count is exact unless Limit has caused sampling.
func (e *IPv4Rows) Counts() engine.Counts {
	c := e.counts(0)
	c.High = min(c.High, 1<<32)
	c.Distinct = min(c.Distinct, c.High)
	return c
}

// savedIPv4 are the fields of an IPv4Rows in a snapshot.
type savedIPv4 struct {
	savedExact
	maxLines uint64
	check    uint64 // check value of the permutation
}

func (s *savedIPv4) fields() snapshot.Fields {
	return append(s.savedExact.fields(), &s.maxLines, &s.check)
}

// Snapshot writes all addresses that the counter remembers. The counter that
// RestoreIPv4Rows returns continues with the same verdicts and counts. secret is the one
// whose AESKey(Permutation) the counter was made with; it seals the snapshot. label names
// the elements, such as "src", in at most snapshot.MaxLabel bytes. A counter can only be
// restored with the same label. Errors come from w, or wrap snapshot.ErrInvalid for a bad
// label. It panics after Close.
func (e *IPv4Rows) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	e.rows.Table.Arena.CheckOpen("distinct: IPv4Rows.Snapshot")
	exact, overflow := e.save()
	s := savedIPv4{exact, uint64(e.maxLines), e.permutationCheck()}
	out := snapshot.NewWriter(w, snapshot.IPv4Rows, secret, label, s.fields())
	e.rows.Save(out, overflow)
	return out.End()
}

// permutationCheck returns the images of two addresses, which distinguish permutations.
func (e *IPv4Rows) permutationCheck() uint64 {
	var to [2]uint32
	e.permute.Permute(to[:], []uint32{0, 1})
	return uint64(to[0])<<32 | uint64(to[1])
}

// RestoreIPv4Rows reads the counter that IPv4Rows.Snapshot wrote, and nothing behind it.
// Errors wrap snapshot.ErrInvalid if the snapshot is damaged, cut short, of another
// version, kind or label, or made under another key. They wrap engine.ErrMemory if it
// takes more memory than c allows. Other errors come from r and layout.NewArena. c bounds
// the counter's present size, not its growth.
func RestoreIPv4Rows(r io.Reader, c snapshot.RestoreConfig) (*IPv4Rows, error) {
	var s savedIPv4
	load := func(e *IPv4Rows, in *snapshot.Reader) error { return e.load(in, &s.savedExact) }
	return snapshot.Restore(r, snapshot.IPv4Rows, c, s.fields(), s.counter, load)
}

// counter makes the counter that was saved, without elements.
func (s *savedIPv4) counter(c snapshot.RestoreConfig) (*IPv4Rows, error) {
	if err := s.savedExact.check(minIPv4Lines, layout.BitmapLines, layout.BitmapLines); err != nil {
		return nil, err
	}
	most := s.maxLines
	// A bitmap neither grows nor is thinned.
	if s.first > layout.MaxExactLines || most < minIPv4Lines || most > layout.MaxExactLines || most&(most-1) != 0 ||
		s.rows.Lines == layout.BitmapLines && (s.rows.Wider > 0 || s.rows.Thinning) {
		return nil, snapshot.ErrInconsistent
	}
	if err := s.rows.Allow(c); err != nil {
		return nil, err
	}
	e, err := NewIPv4Rows(c.Secret.AESKey(engine.UsePermutation), 0)
	if err != nil {
		return nil, err
	}
	if e.permutationCheck() != s.check {
		e.Close()
		return nil, fmt.Errorf("%w: the counter's permutation is not of this key", snapshot.ErrInvalid)
	}
	e.maxLines = int(most)
	return e, nil
}
