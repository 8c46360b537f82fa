// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"errors"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Filter reports which elements of a stream came before, within its memory. It serves one
// goroutine.
type Filter interface {
	// TestAndSet reports whether the element was seen before, and remembers it as the
	// method prescribes. An element is given by its digest, from which all hash functions
	// derive.
	TestAndSet(d digest.Digest) (seen bool)
	// Bits returns the memory that the method accounts for, in bits: the memory that
	// papers compare at equal size, not Go's allocations.
	Bits() int
}

// TimedFilter reports which elements of a stream came before within a window of time.
// Time goes in whole units, counted from any origin that the caller chooses. It serves
// one goroutine.
type TimedFilter interface {
	// TestAndSetAt reports whether the element was seen before within the window, and
	// remembers it as the method prescribes. unit is the element's time. The latest unit
	// given so far is the present, and a later unit advances it. An element of an earlier
	// unit is late, which is no error. It is tested in the present, and remembered for
	// the rest of its own window.
	TestAndSetAt(d digest.Digest, unit uint64) (seen bool)
	// Bits is as in [Filter].
	Bits() int
}

// ErrParameter is wrapped by every error of the constructors: no filter can have these
// parameters.
var ErrParameter = errors.New("impossible filter parameter")

const (
	// maxBits bounds a filter's memory, 32 GiB, so that a wrong unit is an error and does
	// not end the process. Every table of the papers fits. With 32-bit ints it is the
	// largest size that fits after rounding up to whole words.
	maxBits = min(1<<38, math.MaxInt-63)
	// maxHashes bounds the number of hash functions, far above any in the papers.
	maxHashes = 1 << 10
)

// requireRange reports an error unless least <= value <= most.
func requireRange(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("paper: %s is %d, must be from %d to %d: %w", name, value, least, most, ErrParameter)
	}
	return nil
}

// requireShare reports an error unless 0 <= share < 1.
func requireShare(name string, share float64) error {
	if !(share >= 0 && share < 1) {
		return fmt.Errorf("paper: %s is %g, must be from 0 to below 1: %w", name, share, ErrParameter)
	}
	return nil
}

// prefetchBatch is the number of elements whose words are read before the first element
// is tested. Memory then serves many misses at once, and all the words fit a small
// first-level cache.
const prefetchBatch = 64

// cachedBits is the memory up to which prefetching costs more than it gains, 4 MiB.
const cachedBits = 4 << 23

// foreseer is a filter that knows which cells elements will probe.
type foreseer interface {
	// foresee appends the indexes of these cells. The cells that hash functions select come first,
	// the same number for each element.
	foresee(indexes []uint64, digests []digest.Digest) ([]uint64, *cells)
}

// located is a foreseer that needs no more of an element than these indexes.
type located interface {
	testAndSetAt(pos []uint64) (seen bool)
	functions() int
}

// TestAndSetAll calls f.TestAndSet for each element in turn and stores the reports in
// seen, which must be as long as digests.
//
// In memory larger than the caches that loop waits for each probe in turn. TestAndSetAll
// first reads the words of a few dozen elements, so that the waits overlap.
func TestAndSetAll(f Filter, digests []digest.Digest, seen []bool) {
	testAndSetAll(f, digests, seen, cachedBits)
}

// testAndSetAll is TestAndSetAll that prefetches for filters above the given number of
// bits.
func testAndSetAll(f Filter, digests []digest.Digest, seen []bool, cached int) {
	p, _ := f.(foreseer)
	at, _ := f.(located)
	var (
		indexes []uint64
		memory  *cells
	)
	for from := 0; from < len(digests); from += prefetchBatch {
		to := min(from+prefetchBatch, len(digests))
		if p != nil && f.Bits() > cached {
			indexes, memory = p.foresee(indexes[:0], digests[from:to])
			memory.prefetch(indexes)
			if at != nil {
				k := at.functions()
				for i := range digests[from:to] {
					seen[from+i] = at.testAndSetAt(indexes[i*k : (i+1)*k])
				}
				continue
			}
		}
		for i, d := range digests[from:to] {
			seen[from+i] = f.TestAndSet(d)
		}
	}
}
