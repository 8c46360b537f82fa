// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/bits-and-blooms/bloom/v3"
	cuckoo "github.com/seiflotfy/cuckoofilter"
	boom "github.com/tylertreat/BoomFilters"
)

// boomFilter is a filter of BoomFilters.
type boomFilter struct {
	onHeap
	boom.Filter
}

func (f *boomFilter) TestAndSet(seen []uint64, keys []key) {
	clear(seen[:(len(keys)+63)/64])
	for i := range keys {
		if f.TestAndAdd(keys[i][:]) {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

// boomRate is the rate for which BoomFilters takes 16 bits an element, by the
// textbook's formula.
var boomRate = math.Exp(-16 * math.Ln2 * math.Ln2)

func openBoomClassic(elements int) (filter[key], error) {
	return &boomFilter{Filter: boom.NewBloomFilter(uint(elements), boomRate)}, nil
}

func openBoomPartitioned(elements int) (filter[key], error) {
	return &boomFilter{Filter: boom.NewPartitionedBloomFilter(uint(elements), boomRate)}, nil
}

func openBoomStable(memory int, cellBits uint8, fpr float64) (filter[key], error) {
	cells := uint(memory) * 8 / uint(cellBits)
	return &boomFilter{Filter: boom.NewStableBloomFilter(cells, cellBits, fpr)}, nil
}

// openBoomScalable lets the parts be a tenth of the set: by default they hold
// 10,000 elements, and a million would need more than a hundred of them.
func openBoomScalable(elements int, fpr float64) (filter[key], error) {
	return &boomFilter{Filter: boom.NewScalableBloomFilter(uint(elements/10), fpr, 0.8)}, nil
}

// boomInverse keeps the keys that it receives, so they are copied.
type boomInverse struct {
	onHeap
	filter *boom.InverseBloomFilter
}

// inverseSlot is the size of an element: a pointer, a slice and the key.
const inverseSlot = 8 + 24 + 16

func openBoomInverse(memory int) (filter[key], error) {
	return &boomInverse{filter: boom.NewInverseBloomFilter(uint(memory / inverseSlot))}, nil
}

func (f *boomInverse) TestAndSet(seen []uint64, keys []key) {
	clear(seen[:(len(keys)+63)/64])
	for i := range keys {
		k := keys[i]
		if f.filter.TestAndAdd(k[:]) {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

type boomCuckoo struct {
	onHeap
	filter *boom.CuckooFilter
}

func openBoomCuckoo(elements int, fpr float64) (filter[key], error) {
	return &boomCuckoo{filter: boom.NewCuckooFilter(uint(elements), fpr)}, nil
}

// TestAndSet leaves elements that find the filter full to the rate of false
// negatives.
func (f *boomCuckoo) TestAndSet(seen []uint64, keys []key) {
	clear(seen[:(len(keys)+63)/64])
	for i := range keys {
		if found, _ := f.filter.TestAndAdd(keys[i][:]); found {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

type bitsAndBlooms struct {
	onHeap
	filter *bloom.BloomFilter
}

func openBitsAndBlooms(memory int, k uint) (filter[key], error) {
	return &bitsAndBlooms{filter: bloom.New(8*uint(memory), k)}, nil
}

func (f *bitsAndBlooms) TestAndSet(seen []uint64, keys []key) {
	clear(seen[:(len(keys)+63)/64])
	for i := range keys {
		if f.filter.TestOrAdd(keys[i][:]) {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

type seiflotfy struct {
	onHeap
	filter *cuckoo.Filter
}

// openSeiflotfy opens a cuckoo filter with its one byte a cell.
func openSeiflotfy(memory int) (filter[key], error) {
	return &seiflotfy{filter: cuckoo.NewFilter(uint(memory))}, nil
}

// TestAndSet leaves elements that find the filter full to the rate of false
// negatives.
func (f *seiflotfy) TestAndSet(seen []uint64, keys []key) {
	clear(seen[:(len(keys)+63)/64])
	for i := range keys {
		if f.filter.Lookup(keys[i][:]) {
			seen[i/64] |= 1 << (i % 64)
		} else {
			f.filter.Insert(keys[i][:])
		}
	}
}

type roaringSet struct {
	onHeap
	bitmap *roaring.Bitmap
}

func openRoaring() (filter[uint32], error) { return &roaringSet{bitmap: roaring.New()}, nil }

func (f *roaringSet) TestAndSet(seen []uint64, keys []uint32) {
	clear(seen[:(len(keys)+63)/64])
	for i, k := range keys {
		if !f.bitmap.CheckedAdd(k) {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

// goMap is the language's own set.
type goMap[K comparable] struct {
	onHeap
	set map[K]struct{}
}

func openMap[K comparable]() (filter[K], error) { return &goMap[K]{set: map[K]struct{}{}}, nil }

func (f *goMap[K]) TestAndSet(seen []uint64, keys []K) {
	clear(seen[:(len(keys)+63)/64])
	for i, k := range keys {
		before := len(f.set)
		if f.set[k] = struct{}{}; len(f.set) == before {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}
