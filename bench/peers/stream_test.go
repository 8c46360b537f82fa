// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/flowdedup/flowdedup/layout"
)

// key is the input of filters: two words that identify an element, as an IPv6 address or
// a five-tuple does.
type key = [16]byte

// stream is an endless stream of elements. Half of them, by chance, repeat one of the
// last window elements. It needs no memory: where an element comes from follows from its
// position.
type stream struct {
	seed, window uint64
}

// at returns the element at position i, which is the position of its first
// sighting, and whether that was earlier.
func (s stream) at(i uint64) (id uint64, repeat bool) {
	for id = i; ; repeat = true {
		r := mix(id + s.seed)
		high, _ := bits.Mul64(r, s.window)
		back := 1 + high
		if r&1 == 0 || back > id {
			return id, repeat
		}
		id -= back
	}
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	return layout.Mix(x + 0x9e3779b97f4a7c15)
}

func keyOf(id uint64) (k key) {
	binary.LittleEndian.PutUint64(k[:8], mix(2*id))
	binary.LittleEndian.PutUint64(k[8:], mix(2*id+1))
	return k
}

// spreadAddress spreads addresses over all networks. Different elements have
// different addresses, as long as there are no more than 2^32.
func spreadAddress(id uint64) uint32 {
	x := uint32(id) * 0x9e3779b1
	return (x ^ x>>15) * 0x85ebca77
}

// denseAddress puts 4096 addresses in each network of 2^16.
func denseAddress(id uint64) uint32 {
	return uint32(id>>12)*0x9e3b<<16 | uint32(id)%4096*0x9e3b&0xffff
}

// TestStream compares the stream's account of repeats with a map's.
func TestStream(t *testing.T) {
	s := stream{seed: 7, window: 1000}
	last, repeats := map[key]uint64{}, 0
	for i := range uint64(100_000) {
		id, repeat := s.at(i)
		k := keyOf(id)
		before, known := last[k]
		if known != repeat || known && i-before > s.window {
			t.Fatalf("element %d: repeat %v, but last seen at %d (%v)", i, repeat, before, known)
		}
		last[k] = i
		if repeat {
			repeats++
		}
	}
	// 100,000 draws of a fair coin are outside of these bounds once in 10^9 times.
	if repeats < 49_000 || repeats > 51_000 {
		t.Errorf("%d repeats", repeats)
	}
}

func TestAddresses(t *testing.T) {
	for name, address := range map[string]func(uint64) uint32{"spread": spreadAddress, "dense": denseAddress} {
		seen := map[uint32]bool{}
		for id := range uint64(1 << 20) {
			seen[address(id)] = true
		}
		if len(seen) != 1<<20 {
			t.Errorf("%s: %d addresses of 2^20 elements", name, len(seen))
		}
	}
}
