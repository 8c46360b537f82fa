package rivals

import (
	"io"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Windowed is a filter over a sliding window of time. It serves one goroutine.
type Windowed interface {
	// TestAndSet reports whether the element was seen within the window before
	// now, as far as the filter knows, and remembers it. Times never decrease, and
	// are 0 or more; their unit is that of the window.
	TestAndSet(d digest.Digest, now int64) (seen bool)
	// Bits returns the memory that the method accounts for.
	Bits() int
}

// untimed is a filter that ignores time.
type untimed struct{ paper.Filter }

// Close frees memory that Go's collector does not manage.
func (u untimed) Close() error { return closeFilter(u.Filter) }

func closeFilter(f any) error {
	if c, ok := f.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (u untimed) TestAndSet(d digest.Digest, _ int64) (seen bool) { return u.Filter.TestAndSet(d) }

// lineBits is the size of a cache line.
const lineBits = 512

// hashes holds where an element lies: its line, and the seed of its positions there.
type hashes struct {
	line uint64
	seed uint64
}

// hashesOf chooses the line by multiply-shift of one half of the digest. The remainder
// and the other half give the positions.
func hashesOf(d digest.Digest, lines int) hashes {
	line, rest := bits.Mul64(d[1], uint64(lines))
	return hashes{line: line, seed: d[0] ^ bits.RotateLeft64(rest, 32)}
}

// at returns the value, below m, of the element's hash function number i: number i of the
// SplitMix64 sequence (Steele, Lea, Flood, 2014). Double hashing does not suffice: lines
// have so few positions that two of them cannot distinguish elements.
func (p hashes) at(i int, m uint64) uint64 {
	high, _ := bits.Mul64(paper.SplitMix(p.seed+uint64(i+1)*0x9e3779b97f4a7c15), m)
	return high
}

// fingerprintOf returns the fingerprint of width bits, from 1 to 64, that is stored
// for an element: uniform over 2^width - 1 values, since 0 is an empty cell.
func fingerprintOf(d digest.Digest, width int) uint64 {
	high, _ := bits.Mul64(d[0], ^uint64(0)>>(64-width))
	return high + 1
}

// bitset is an array of bits.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i uint64) bool { return b[i/64]>>(i%64)&1 != 0 }

func (b bitset) set(i uint64) { b[i/64] |= 1 << (i % 64) }

// clearRange clears n bits from bit from on.
func (b bitset) clearRange(from, n uint64) {
	for n > 0 {
		shift := from % 64
		part := min(64-shift, n)
		b[from/64] &^= ^uint64(0) >> (64 - part) << shift
		from, n = from+part, n-part
	}
}
