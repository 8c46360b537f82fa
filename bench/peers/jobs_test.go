// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/layout"
)

// sizes are the sizes of the other benchmarks.
var sizes = []int{128 << 10, 1 << 20, 16 << 20, 128 << 20, 512 << 20}

// knownRivals hold a set in the given number of bytes, two for each element.
func knownRivals(memory int) []rival[key] {
	return []rival[key]{
		{"flowdedup-bits", func() (filter[key], error) { return openBloom(memory, 1) }},
		{"bits-and-blooms", func() (filter[key], error) { return openBitsAndBlooms(memory, 8) }},
		{"seiflotfy-cuckoo", func() (filter[key], error) { return openSeiflotfy(memory) }},
		{"boom-classic", func() (filter[key], error) { return openBoomClassic(memory / 2) }},
		{"boom-partitioned", func() (filter[key], error) { return openBoomPartitioned(memory / 2) }},
	}
}

func BenchmarkKnown(b *testing.B) {
	for _, memory := range sizes {
		for _, r := range knownRivals(memory) {
			b.Run(fmt.Sprintf("memory=%dKiB/filter=%s", memory>>10, r.name), func(b *testing.B) {
				measureSet(b, r, stream{1, uint64(memory / 2)}, keyOf, memory)
			})
		}
	}
}

// growingRivals grow with a set of unknown size. Peers that need the size are given it.
func growingRivals(elements int) []rival[key] {
	rivals := []rival[key]{
		{"flowdedup-landmark", func() (filter[key], error) { return openScalableBloom(1e-3) }},
		{"flowdedup-landmark-billionth", func() (filter[key], error) { return openScalableBloom(1e-9) }},
		{"flowdedup-digest-rows", openDigestRows},
		{"flowdedup-set", openDigestMap},
		{"boom-scalable", func() (filter[key], error) { return openBoomScalable(elements, 1e-3) }},
		{"go-map", openMap[key]},
	}
	if elements <= 10_000 { // it takes a kilobyte or two for each
		rivals = append(rivals, rival[key]{"boom-cuckoo", func() (filter[key], error) { return openBoomCuckoo(elements, 1e-3) }})
	}
	return rivals
}

func BenchmarkGrowing(b *testing.B) {
	for _, elements := range []int{10_000, 1_000_000} {
		for _, r := range growingRivals(elements) {
			b.Run(fmt.Sprintf("distinct=%d/filter=%s", elements, r.name), func(b *testing.B) {
				measureSet(b, r, stream{2, uint64(elements)}, keyOf, 2*elements)
			})
		}
	}
}

// streamRivals hold as much as they can of a window in the given number of bytes, except
// the exact one, which takes as much as it needs: up to 24 times as much, so it is left
// out of the largest sizes.
func streamRivals(memory int, window uint64) []rival[key] {
	rows := func(shape layout.RowShape, eviction line.Eviction) func() (filter[key], error) {
		return func() (filter[key], error) { return openRows(memory, line.RowParams{Shape: shape, Eviction: eviction}) }
	}
	rivals := []rival[key]{
		{"flowdedup-rows-32x16-lru", rows(layout.Lines32x16, line.EvictLRU)},
		{"flowdedup-rows-16x32-lru", rows(layout.Lines16x32, line.EvictLRU)},
		{"flowdedup-timed", func() (filter[key], error) { return openTimed(memory, window) }},
		{"boom-stable-1-bit", func() (filter[key], error) { return openBoomStable(memory, 1, 1e-3) }},
		{"boom-stable-3-bits", func() (filter[key], error) { return openBoomStable(memory, 3, 1e-3) }},
		{"boom-inverse", func() (filter[key], error) { return openBoomInverse(memory) }},
	}
	if memory <= 16<<20 {
		rivals = append(rivals, rival[key]{"flowdedup-exact-window", func() (filter[key], error) { return openExactWindow(window) }})
	}
	return rivals
}

func BenchmarkStream(b *testing.B) {
	for _, memory := range sizes {
		for _, bits := range []int{32, 256} {
			window := uint64(8 * memory / bits)
			for _, r := range streamRivals(memory, window) {
				b.Run(fmt.Sprintf("memory=%dKiB/bits=%d/filter=%s", memory>>10, bits, r.name), func(b *testing.B) {
					measureStream(b, r, stream{3, window})
				})
			}
		}
	}
}

var addressRivals = []rival[uint32]{
	{"flowdedup-exact-rows", openIPv4Rows},
	{"flowdedup-set", openIPv4Map},
	{"roaring", openRoaring},
	{"go-map", openMap[uint32]},
}

func BenchmarkAddresses(b *testing.B) {
	for _, kind := range []struct {
		name    string
		address func(uint64) uint32
	}{{"spread", spreadAddress}, {"dense", denseAddress}} {
		for _, elements := range []int{10_000, 1_000_000} {
			for _, r := range addressRivals {
				b.Run(fmt.Sprintf("networks=%s/distinct=%d/filter=%s", kind.name, elements, r.name), func(b *testing.B) {
					measureSet(b, r, stream{4, uint64(elements)}, kind.address, 2*elements)
				})
			}
		}
	}
}
