// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

// TestIPv4MapMemory measures the heap that a million addresses take.
func TestIPv4MapMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for _, c := range []struct {
		name        string
		addr        func(i int) uint32
		least, most float64 // bytes an address
	}{
		{"one after another", func(i int) uint32 { return 10<<24 + uint32(i) }, 0.3, 0.7},
		{"at random", func(int) uint32 { return rng.Uint32() }, 21, 41},
		{"one in each /24", func(i int) uint32 { return uint32(i)<<8 + rng.Uint32N(256) }, 21, 41},
	} {
		t.Run(c.name, func(t *testing.T) {
			addrs := make([]uint32, 1_000_000)
			for i := range addrs {
				addrs[i] = c.addr(i)
			}
			wantMemory(t, NewIPv4Map(), addrs, c.least, c.most)
		})
	}
}

func TestDigestMapMemory(t *testing.T) {
	wantMemory(t, NewDigestMap(), check.Digests(37, 1_000_000), 30, 61)
}

// wantMemory counts elements, and wants the heap to grow by so many bytes for each, and the
// estimate of Counts to be near it.
func wantMemory[K any](t *testing.T, c engine.Counter[K], elements []K, least, most float64) {
	t.Helper()
	defer c.Close()
	seen := make([]uint64, len(elements)/64+1)
	before := heap()
	c.TestAndSet(seen, elements)
	taken := float64(heap() - before)
	runtime.KeepAlive(elements)
	runtime.KeepAlive(seen)
	counts := c.Counts()
	each, estimated := taken/float64(counts.Distinct), float64(counts.MemoryBytes)
	t.Logf("%.2f bytes an element, estimated %.2f", each, estimated/float64(counts.Distinct))
	if each < least || each > most {
		t.Errorf("%.2f bytes an element, want %v to %v", each, least, most)
	}
	if estimated < 0.8*taken || estimated > 1.4*taken { // 32-bit processors align less
		t.Errorf("%.0f bytes are estimated, %.0f taken", estimated, taken)
	}
}

// heap returns the bytes of all objects that are reachable.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkSet(b *testing.B) {
	for _, distinct := range []int{10_000, 1 << 20} {
		b.Run(fmt.Sprintf("of=digests/distinct=%d", distinct), func(b *testing.B) {
			check.MeasureCounter(b, func() engine.Counter[digest.Digest] { return NewDigestMap() }, distinct, func(d digest.Digest) digest.Digest { return d })
		})
		b.Run(fmt.Sprintf("of=addresses/distinct=%d", distinct), func(b *testing.B) {
			check.MeasureCounter(b, func() engine.Counter[uint32] { return NewIPv4Map() }, distinct, func(d digest.Digest) uint32 { return uint32(d[0]) })
		})
	}
}
