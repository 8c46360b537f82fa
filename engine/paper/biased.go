// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// BiasedConfig says which [Biased] filter to build. The paper's Tables 4 to 9 have K = 2.
type BiasedConfig struct {
	Bits int    // M, at least K and at most 2^38
	K    int    // Bloom filters, of s = floor(M/K) bits each; from 1 to 1024
	Seed uint64 // of the resets and, for RSBF, the insertions
	// Reach is how many bits of each filter resets reach, from the first on; 0 stands for
	// all. With 2^31 of 2^32 a single filter has the rates that the paper prints for 512 MB.
	Reach int
}

// Biased is one of the four biased sampling filters of BDNB12. Each has K Bloom filters
// with one hash function, and resets random bits when it inserts an element; [NewRSBF],
// [NewBSBF], [NewBSBFSD] and [NewRLBSBF] say when it does and which.
//
// Interpretation of the last three: DISTINCT and DUPLICATE are swapped in the first branch
// of the printed algorithms; an element whose bits are all set is a duplicate. The filter
// resets the random bits, which may be zero already as the text says, before it sets the
// element's.
type Biased struct {
	hashed             // one bit in each filter, whose size s is the hash functions' range
	reservoir bool     // RSBF: inserts by chance, whatever it reported
	single    bool     // BSBFSD: an insertion resets a bit of one filter
	balanced  bool     // RLBSBF: an insertion resets bits by the filters' loads
	reach     uint64   // bits of a filter that resets reach
	load      []uint64 // bits set in each filter
	resets    []uint64 // the random bits of the insertion drawn last
	random    draws
	threshold float64 // p*, of RSBF
	came      uint64  // elements so far, i, of RSBF
}

var _ Filter = (*Biased)(nil)

// newBiased returns an empty filter of a kind.
func newBiased(f Biased, c BiasedConfig) (*Biased, error) {
	if err := cmp.Or(
		requireRange("K", c.K, 1, maxHashes),
		requireRange("bits", c.Bits, c.K, maxBits),
		requireRange("reach", c.Reach, 0, c.Bits/max(1, c.K)),
	); err != nil {
		return nil, err
	}
	size := c.Bits / c.K
	f.hashed, f.reach, f.random = newPartitioned(size, c.K), uint64(cmp.Or(c.Reach, size)), newDraws(c.Seed)
	f.load, f.resets = make([]uint64, c.K), make([]uint64, 0, c.K)
	return &f, nil
}

// NewRSBF returns an empty reservoir sampling based Bloom filter (section 3, Algorithm 1).
// It inserts element number i of the stream into K Bloom filters of s bits with probability
// s/i, as a reservoir does. threshold is p*, from 0 (never) to below 1; the paper takes
// 0.03. Errors wrap [ErrParameter].
//
// Interpretation. These choices reproduce the paper's tables; the printed pseudo-code
// does not:
//
//   - Every element is inserted with probability min(1, s/i), whatever the filter
//     reported. The text says this for elements reported distinct only.
//   - An insertion first resets one random bit of each filter, set or not, and then sets
//     the element's bits, so an element never erases itself. Algorithm 1 has the opposite
//     order.
//   - The first s elements reset bits as well. In Algorithm 1 they do not. Then the
//     largest memory of the tables would have no misses, but the printed sizes are not
//     zero.
//   - Once s/i is p* or less, every element reported distinct is inserted (Algorithm 1,
//     and the text on the threshold). Each filter in which the element's bit is zero
//     resets a random set bit and sets the element's. An element reported duplicate then
//     changes nothing, and the reservoir is not used any more. With the paper's p* of
//     0.03 this begins at element s/0.03, which none of its tables reaches. So the rule
//     is as printed, but unmeasured.
func NewRSBF(c BiasedConfig, threshold float64) (*Biased, error) {
	if err := requireShare("threshold", threshold); err != nil {
		return nil, err
	}
	return newBiased(Biased{reservoir: true, threshold: threshold}, c)
}

// NewBSBF returns an empty biased sampling based Bloom filter (section 4, Algorithm 2).
// It inserts every element reported distinct into K Bloom filters, each of which resets
// one random bit then. Errors wrap [ErrParameter].
func NewBSBF(c BiasedConfig) (*Biased, error) { return newBiased(Biased{}, c) }

// NewBSBFSD returns an empty filter with single deletion (section 4.2, Algorithm 3): like
// [NewBSBF], but an insertion resets one random bit of one random filter only. The filters
// stay fuller, which means more false positives and fewer misses. Errors wrap
// [ErrParameter].
func NewBSBFSD(c BiasedConfig) (*Biased, error) { return newBiased(Biased{single: true}, c) }

// NewRLBSBF returns an empty randomized load balanced filter (section 5, Algorithm 4): like
// [NewBSBF], but the random bit of filter i is reset only with probability L(i)/s, where
// L(i) is the filter's load, the number of its bits that are set. Each filter uses its own
// load at the arrival of the element; the sum of the loads gives the same rates within
// 0.1 %. Errors wrap [ErrParameter].
func NewRLBSBF(c BiasedConfig) (*Biased, error) { return newBiased(Biased{balanced: true}, c) }

// TestAndSet implements [Filter].
func (f *Biased) TestAndSet(d digest.Digest) (seen bool) {
	f.locate(d)
	return f.testAndSetAt(f.pos)
}

// testAndSetAt implements located.
func (f *Biased) testAndSetAt(pos []uint64) (seen bool) {
	seen = f.allSet(pos)
	f.came++
	switch {
	case f.reservoir:
		f.sample(pos, seen)
	case !seen:
		f.insert(pos)
	}
	return seen
}

// foresee implements foreseer. The bits that insertions reset are read ahead, too: the load
// needs their values. Elements that are not inserted draw none, so some bits are those of
// later elements.
func (f *Biased) foresee(indexes []uint64, digests []digest.Digest) ([]uint64, *cells) {
	indexes, memory := f.hashed.foresee(indexes, digests)
	random := f.random.ahead(2 * len(f.load) * len(digests))
	for i := range digests {
		if !f.reservoir || f.sampled(f.came+uint64(i)+1, &random) {
			indexes = f.drawResets(indexes, &random)
		}
	}
	return indexes, memory
}

// sample inserts the element as RSBF does.
func (f *Biased) sample(pos []uint64, seen bool) {
	switch {
	case float64(f.space) <= f.threshold*float64(f.came):
		if !seen {
			f.replace(pos)
		}
	case f.sampled(f.came, &f.random):
		f.insert(pos)
	}
}

// sampled draws whether RSBF inserts the element of a number.
func (f *Biased) sampled(number uint64, random *draws) bool {
	return number <= f.space || random.below(number) < f.space
}

// insert resets random bits and sets the element's bits.
func (f *Biased) insert(pos []uint64) {
	f.resets = f.drawResets(f.resets[:0], &f.random)
	for _, i := range f.resets {
		f.change(int(i/f.space), i, 0)
	}
	for filter, i := range pos {
		f.change(filter, i, 1)
	}
}

// drawResets appends the random bits that an insertion resets, which may be zero already.
func (f *Biased) drawResets(bits []uint64, random *draws) []uint64 {
	if f.single {
		filter := random.below(uint64(len(f.load)))
		return append(bits, filter*f.space+random.below(f.reach))
	}
	for filter, load := range f.load {
		if !f.balanced || random.below(f.space) < load {
			bits = append(bits, uint64(filter)*f.space+random.below(f.reach))
		}
	}
	return bits
}

// replace sets the element's bits, and for each that was zero resets a random set bit.
func (f *Biased) replace(pos []uint64) {
	for filter, i := range pos {
		if f.bit(i) == 0 {
			f.resetSet(filter)
			f.change(filter, i, 1)
		}
	}
}

// resetSet resets one set bit of a filter, which has one since the first element. The
// filters that replace elements are full, so few draws find a set bit.
func (f *Biased) resetSet(filter int) {
	for before := f.load[filter]; f.load[filter] == before; {
		f.change(filter, uint64(filter)*f.space+f.random.below(f.space), 0)
	}
}

// change stores a bit and keeps the filter's load.
func (f *Biased) change(filter int, i, bit uint64) {
	f.load[filter] += bit - f.exchange(i, bit)
}

// Load returns the share of bits that are set (section 6.2).
func (f *Biased) Load() float64 {
	ones := uint64(0)
	for _, load := range f.load {
		ones += load
	}
	return float64(ones) / float64(f.Bits())
}
