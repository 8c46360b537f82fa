package asm

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLineBlocks walks through batches of every length and compares all that blocks
// tell with what their comments say.
func TestLineBlocks(t *testing.T) {
	forEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		lines := make([][8]uint64, 1000)
		for n := 1; n <= 300; n++ {
			digests, order := guardedOf[Digest](t, n, n%2 == 0), guardedOf[uint32](t, n, n%2 == 1)
			fillDigests(rng, digests, digestBatches[n%len(digestBatches)].digest)
			for i := range order {
				order[i] = rng.Uint32()
			}
			position := rng.Uint64() >> rng.UintN(64)
			checkWalk(t, lines[:1+rng.IntN(len(lines))], digests, position, nil)
			checkWalk(t, lines[:1+rng.IntN(len(lines))], digests, position, order)
		}
	})
}

func checkWalk(t *testing.T, lines [][8]uint64, digests []Digest, position uint64, order []uint32) {
	t.Helper()
	var w lineWalk
	w.begin(lines, digests, position, order, true)
	ahead := &w.blocks[0]
	for at := 0; at < len(digests); {
		block, next, n := w.next()
		if block != ahead || n != min(64, len(digests)-at) {
			t.Fatalf("%d digests: block of %d at %d", len(digests), n, at)
		}
		for i := range n {
			s := position + uint64(at+i)
			if order != nil {
				s = position + uint64(order[at+i])
			}
			d := digests[at+i]
			line, _ := bits.Mul64(d[1], uint64(len(lines)))
			if block.offset[i] != 64*line || block.low[i] != d[0] || block.draw[i] != draw(d[0], s) {
				t.Fatalf("%d digests: element %d differs", len(digests), at+i)
			}
		}
		for _, offset := range block.offset[n:] {
			if offset != block.offset[0] {
				t.Fatalf("%d digests: line behind the last element", len(digests))
			}
		}
		at, ahead = at+n, next
	}
}

// TestLineBlocksMany has more lines than the product of vectors can take, which
// nobody has the memory for.
func TestLineBlocksMany(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("no such number")
	}
	forEveryLevel(t, func(t *testing.T) {
		for _, many := range []uint64{math.MaxUint32, math.MaxUint32 + 1} {
			lines := int(many)
			var b lineBlock
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

// TestLineBlockStaysOwn: blocks name lines or words of their own elements only, so
// that workers on other lines are not disturbed by what is fetched ahead.
func TestLineBlockStaysOwn(t *testing.T) {
	forEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 41))
		for n := 1; n <= 64; n++ {
			digests := make([]Digest, n)
			fillDigests(rng, digests, digestBatches[0].digest)
			var b lineBlock
			b.fill(digests, 1000, n%2 == 0, 0, nil, false)
			for i, offset := range b.offset {
				if !slices.Contains(b.offset[:n], offset) || offset >= 64000 {
					t.Fatalf("%d elements: offset %d in place %d", n, offset, i)
				}
			}
		}
	})
}
