// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
)

const (
	// swampSlack is how much more room than entries the table of counts has (alpha of the
	// article).
	swampSlack = 0.2
	// leastSwampBits is the least -log2 of the error rate. A filter without room for a
	// whole window at that rate remembers a part of the window.
	leastSwampBits = 4
)

// swamp is the sliding window approximate measurement protocol of Assaf, Ben Basat,
// Einziger, Friedman, Pay for a Sliding Bloom Filter and Get Counting, Distinct Elements,
// and Entropy for Free (INFOCOM 2018): a cyclic buffer of the fingerprints of the last W
// records, and a compact table of how often each of them is in the buffer. An element is
// reported if its fingerprint is. The window is exact; two elements with one fingerprint
// are the only error.
//
// Interpretation: the table is a map here, and accounted for as the article does: a buffer
// of W fingerprints of ceil(log2 W) + b bits, for an error rate of 2^-b, and (1 + alpha)
// (b + 3) bits of TinyTable for each.
type swamp struct {
	records int // W
	errors  int // b
	buffer  []uint64
	next    int // the oldest fingerprint, once the buffer is full
	counts  map[uint64]int
}

// newSwamp returns the empty filter of a window of records, with the lowest error rate
// that fits the given bits.
func newSwamp(memory, window int) *swamp {
	s := &swamp{records: window, errors: leastSwampBits, counts: map[uint64]int{}}
	for s.Bits() > memory && s.records > 1 {
		s.records = s.records * 15 / 16
	}
	for s.width() < 64 {
		s.errors++
		if s.Bits() > memory {
			s.errors--
			break
		}
	}
	return s
}

// width returns the bits of a fingerprint.
func (s *swamp) width() int { return bits.Len(uint(s.records-1)) + s.errors }

// TestAndSet implements windowed. It takes constant time.
func (s *swamp) TestAndSet(d digest.Digest, _ int64) (seen bool) {
	value := d[0] >> (64 - s.width())
	seen = s.counts[value] > 0
	s.counts[value]++
	if len(s.buffer) < s.records {
		s.buffer = append(s.buffer, value)
		return seen
	}
	oldest := s.buffer[s.next]
	if s.counts[oldest]--; s.counts[oldest] == 0 {
		delete(s.counts, oldest)
	}
	s.buffer[s.next] = value
	s.next = (s.next + 1) % s.records
	return seen
}

// Bits implements windowed.
func (s *swamp) Bits() int {
	table := (1 + swampSlack) * float64(s.errors+3)
	return int(math.Ceil(float64(s.records) * (float64(s.width()) + table)))
}

// swampMethod is SWAMP for windows of records.
var swampMethod = method{
	name:  "SWAMP, anywhere",
	build: func(bits int, t *trace) windowed { return newSwamp(bits, int(t.window)) },
	predict: func(bits int, t *trace) float64 {
		return t.distinct / math.Exp2(float64(newSwamp(bits, int(t.window)).width()))
	},
}

// quotientRows are quotient hash tables whose rows are a cache line. They have no window:
// a row remembers the elements that came to it last, or some of them.
func quotientRows() (all []method) {
	const cells, width = 32, 16
	for _, kind := range []struct {
		name string
		make func(paper.QHTConfig) (*paper.QHT, error)
	}{{"QHT", paper.NewQHT}, {"QQHT", paper.NewQQHT}, {"QQHTD", paper.NewQQHTD}} {
		all = append(all, method{
			name:    fmt.Sprintf("%s %dx%d", kind.name, cells, width),
			oneLine: true,
			build: func(bits int, _ *trace) windowed {
				return untimed{result.Must(kind.make(paper.QHTConfig{Bits: bits, CellBits: width, Cells: cells, Seed: 1}))}
			},
		})
	}
	return all
}
