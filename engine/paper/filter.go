package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// Filter tells which elements of a stream came before, as far as it remembers.
// It serves one goroutine.
type Filter interface {
	// TestAndSet reports whether the element was seen before, and remembers it
	// as the method prescribes. Elements are given by their digests, which
	// stand for the values of all hash functions.
	TestAndSet(d digest.Digest) (seen bool)
	// Bits returns the memory that the method accounts for, in bits: what
	// papers compare at equal size, not what Go allocates.
	Bits() int
}
