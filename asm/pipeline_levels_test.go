package asm

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestPipeline walks through batches of every length and compares all that batches
// tell with what their comments say.
func TestPipeline(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		lines := make([][8]uint64, 1000)
		for n := 1; n <= 300; n++ {
			digests, order := kerneltest.Guarded[Digest](t, n, n%2 == 0), kerneltest.Guarded[uint32](t, n, n%2 == 1)
			fillDigests(rng, digests, digestBatches[n%len(digestBatches)].digest)
			for i := range order {
				order[i] = rng.Uint32()
			}
			position := rng.Uint64() >> rng.UintN(64)
			checkPipeline(t, lines[:1+rng.IntN(len(lines))], digests, position, nil)
			checkPipeline(t, lines[:1+rng.IntN(len(lines))], digests, position, order)
		}
	})
}

func checkPipeline(t *testing.T, lines [][8]uint64, digests []Digest, position uint64, order []uint32) {
	t.Helper()
	var w pipeline
	w.begin(lines, elements{kind: inLines, count: len(digests), digests: digests, position: position, order: order, random: true})
	ahead := &w.batches[0]
	for at := 0; at < len(digests); {
		current, next, n := w.next()
		if current != ahead || n != min(64, len(digests)-at) {
			t.Fatalf("%d digests: batch of %d at %d", len(digests), n, at)
		}
		for i := range n {
			s := position + uint64(at+i)
			if order != nil {
				s = position + uint64(order[at+i])
			}
			d := digests[at+i]
			line, _ := bits.Mul64(d[1], uint64(len(lines)))
			if current.offset[i] != 64*line || current.low[i] != d[0] || current.random[i] != prng(d[0], s) {
				t.Fatalf("%d digests: element %d differs", len(digests), at+i)
			}
		}
		for _, offset := range current.offset[n:] {
			if offset != current.offset[0] {
				t.Fatalf("%d digests: line behind the last element", len(digests))
			}
		}
		at, ahead = at+n, next
	}
}

// TestBatchesOfManyLines has more lines than the product of vectors can take, which
// nobody has the memory for.
func TestBatchesOfManyLines(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("no such number")
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, many := range []uint64{math.MaxUint32, math.MaxUint32 + 1} {
			lines := int(many)
			var b batch
			digests := make([]Digest, 64)
			for i := range digests {
				digests[i] = Digest{uint64(i), math.MaxUint64 - uint64(i)}
			}
			b.fill(digests, lines, false, 0, nil, false)
			for i, d := range digests {
				if line, _ := bits.Mul64(d[1], uint64(lines)); b.offset[i] != 64*line {
					t.Fatalf("%d lines: element %d in line %d, want %d", lines, i, b.offset[i]/64, line)
				}
			}
		}
	})
}

// TestBatchStaysOwn: batches name lines or words of their own elements only, so
// that workers on other lines are not disturbed by what is fetched ahead.
func TestBatchStaysOwn(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 41))
		for n := 1; n <= 64; n++ {
			digests := make([]Digest, n)
			fillDigests(rng, digests, digestBatches[0].digest)
			var b batch
			b.fill(digests, 1000, n%2 == 0, 0, nil, false)
			for i, offset := range b.offset {
				if !slices.Contains(b.offset[:n], offset) || offset >= 64000 {
					t.Fatalf("%d elements: offset %d in place %d", n, offset, i)
				}
			}
		}
	})
}
