package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// TimedFilter tells which elements of a stream came before within a window of time.
// Time goes in whole units, counted from any origin that the caller chooses. It
// serves one goroutine.
type TimedFilter interface {
	// TestAndSetAt reports whether the element was seen before within the window,
	// and remembers it as the method prescribes. unit is when the element came.
	// The latest unit given so far is the present: time passes by giving a later
	// one, and an element of an earlier one is late, which is no error. It is
	// tested in the present, and remembered for what is left of its own window.
	TestAndSetAt(d digest.Digest, unit uint64) (seen bool)
	// Bits returns the memory that the method accounts for, in bits: what papers
	// compare at equal size, not what Go allocates.
	Bits() int
}
