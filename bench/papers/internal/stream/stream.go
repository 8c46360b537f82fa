// SPDX-License-Identifier: Apache-2.0

// Package stream makes the synthetic streams of elements that the experiments
// share, and counts a filter's errors on them.
//
// Elements are numbers. Filters see their [Digest].
package stream

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/zipf"
	"github.com/flowdedup/flowdedup/layout"
)

// Elements gives the next element of a stream.
type Elements func() uint64

// List gives the elements of a list.
func List[E uint32 | uint64](all []E) Elements {
	at := -1
	return func() uint64 {
		at++
		return uint64(all[at])
	}
}

// Zipf draws elements from 0 to n-1, where n is 1 to [zipf.MaxRanks], element i with a
// probability proportional to (i+1)^-alpha; an alpha of 0 is uniform. It takes 8 n bytes,
// and constant time for each.
func Zipf(n int, alpha float64, seed uint64) Elements {
	ranks, random := zipf.New(n, alpha), rand.NewPCG(seed, 0)
	return func() uint64 { return uint64(ranks.Draw(random.Uint64())) }
}

// Numbered returns n elements, numbered by their first occurrence.
func Numbered(n int, next Elements) []uint32 {
	numbers, elements := map[uint64]uint32{}, make([]uint32, n)
	for i := range elements {
		element := next()
		number, known := numbers[element]
		if !known {
			number = uint32(len(numbers))
			numbers[element] = number
		}
		elements[i] = number
	}
	return elements
}

// Shuffled is the stream of the tables of Bera et al., 2012: 1 to n distinct elements from 0
// on, each at least once, and n - distinct more copies of uniformly chosen ones, all in
// random order. Independent draws give other miss rates.
//
// The order is a keyed permutation of the positions, not a shuffled array, so a stream of
// a billion elements takes no memory.
func Shuffled(n, distinct int, seed uint64) Elements {
	order, position := newPermutation(uint64(n), seed), uint64(0)
	return func() (element uint64) {
		slot := order.at(position)
		position++
		if slot < uint64(distinct) {
			return slot
		}
		element, _ = bits.Mul64(mix(slot^mix(seed+1)), uint64(distinct))
		return element
	}
}

// permutation is a keyed bijection of the numbers below n: a Feistel network of
// four rounds over the next even number of bits, walked until it ends below n
// (Black, Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
type permutation struct {
	n    uint64
	half uint // bits of one half
	keys [4]uint64
}

// newPermutation returns the permutation of the numbers below n, from 1 to 2^62.
func newPermutation(n, seed uint64) permutation {
	p := permutation{n: n, half: uint(bits.Len64(n-1)+1) / 2}
	for i := range p.keys {
		p.keys[i] = mix(seed ^ mix(uint64(i)+1))
	}
	return p
}

// at returns where i, below n, goes. It takes less than four walks on average.
func (p *permutation) at(i uint64) uint64 {
	for {
		if i = p.scramble(i); i < p.n {
			return i
		}
	}
}

func (p *permutation) scramble(i uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	left, right := i>>p.half, i&mask
	for _, key := range p.keys {
		left, right = right, left^mix(right^key)&mask
	}
	return left<<p.half | right
}

// Digest replaces the keyed hash of an element by 128 bits from two rounds of
// SplitMix64's mixer. It costs a few nanoseconds, and a keyed hash would be no more
// uniform on numbers.
func Digest(element uint64) digest.Digest {
	return digest.Digest{mix(2*element + 1), mix(2*element + 2)}
}

func mix(x uint64) uint64 { return layout.Mix(x * 0x9e3779b97f4a7c15) }

// Crawl describes a stream like a web crawler's by its repetitions. Its parts are printed
// by Deng and Rafiei, SIGMOD 2006, of their streams, which are not public: a buffer of c
// elements misses a repetition if c or more other elements came in between, that is, if
// its stack distance is above c. So the buffering column of their Table 2 is the
// distribution of stack distances.
//
// A stream is drawn from it: an element is new with a fixed probability, or else has a
// random stack distance. A distance beyond all elements so far is replaced by the
// distance of a random one. So the first part of a stream has fewer misses than printed.
type Crawl struct {
	Elements int
	Distinct float64 // share
	// Distances holds the share of repetitions whose stack distance is at most
	// 2^Exponent. In between it grows with the logarithm, from 0 for distance 1.
	Distances []Distance
}

// Distance is a point of the distribution of stack distances.
type Distance struct{ Exponent, Share float64 }

// TenMillion is the paper's data set of 10 million elements, cut to the first n. A buffer
// of 2^8, 2^12, 2^16 and 2^20 elements misses 65.7, 51.5, 31.7 and 11 % of the
// repetitions.
func TenMillion(n int) Crawl {
	const distinct = 0.4851
	return Crawl{n, distinct, []Distance{
		{8, 0.343}, {12, 0.485}, {16, 0.683}, {20, 0.89}, {math.Log2(10_000_000 * distinct), 1},
	}}
}

// Draw returns the stream with elements and distances divided by scale, so that streams
// and memory shrink together. Elements are numbered by their first occurrence.
func (c Crawl) Draw(scale int, seed uint64) []uint32 {
	n := c.Elements / scale
	random := rand.New(rand.NewPCG(seed, 0))
	order := newRecency(n)
	for range n {
		if order.live == 0 || random.Float64() < c.Distinct {
			order.add()
			continue
		}
		order.use(c.distance(random, scale, order.live))
	}
	return order.atTime
}

// distance draws a stack distance from 1 to live.
func (c Crawl) distance(random *rand.Rand, scale, live int) int {
	distance := int(math.Ceil(math.Exp2(c.exponentOf(random.Float64())) / float64(scale)))
	if distance > live {
		return 1 + random.IntN(live)
	}
	return distance
}

// exponentOf returns the exponent up to which a share of the distances lie.
func (c Crawl) exponentOf(share float64) float64 {
	low := Distance{}
	for _, high := range c.Distances {
		if share < high.Share {
			return low.Exponent + (high.Exponent-low.Exponent)*(share-low.Share)/(high.Share-low.Share)
		}
		low = high
	}
	return low.Exponent
}

// recency keeps elements in the order of their last use: a Fenwick tree (Fenwick,
// 1994) over times that counts those at which an element was used last. Each
// operation takes time logarithmic in the number of times.
type recency struct {
	tree   []uint32 // tree[i] counts the times from i-(i&-i)+1 to i, i from 1
	live   int      // elements
	atTime []uint32 // the element used at a time
	last   []uint32 // the time at which an element was used last, plus 1
}

// newRecency returns an empty order for up to n uses.
func newRecency(n int) *recency {
	size := 1 << bits.Len(uint(n))
	return &recency{tree: make([]uint32, size+1), atTime: make([]uint32, 0, n)}
}

// add uses a new element, whose number is the number of elements so far.
func (r *recency) add() (element uint32) {
	element = uint32(len(r.last))
	r.last = append(r.last, 0)
	r.live++
	r.stamp(element)
	return element
}

// use uses the element of a stack distance, from 1 to the number of elements: the
// distance counts the elements used since, and itself.
func (r *recency) use(distance int) (element uint32) {
	element = r.atTime[r.find(r.live-distance+1)]
	r.count(int(r.last[element]), ^uint32(0))
	r.stamp(element)
	return element
}

func (r *recency) stamp(element uint32) {
	r.atTime = append(r.atTime, element)
	r.last[element] = uint32(len(r.atTime))
	r.count(len(r.atTime), 1)
}

// count adds to the count of a time, given plus 1.
func (r *recency) count(i int, change uint32) {
	for ; i < len(r.tree); i += i & -i {
		r.tree[i] += change
	}
}

// find returns the time of the element that is number rank from 1, oldest first.
func (r *recency) find(rank int) (time int) {
	for step := len(r.tree) / 2; step > 0; step /= 2 {
		if next := time + step; next < len(r.tree) && int(r.tree[next]) < rank {
			time, rank = next, rank-int(r.tree[next])
		}
	}
	return time
}
