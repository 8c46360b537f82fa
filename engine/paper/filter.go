package paper

import (
	"errors"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
)

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

// ErrParameter is wrapped by every error of this package's constructors: no
// filter can have the parameters given.
var ErrParameter = errors.New("impossible filter parameter")

const (
	// maxBits bounds a filter's memory, 32 GiB, so that a slip of units is an
	// error and not the end of the process. Every table of the papers fits. Where
	// an int has 32 bits it is what can be rounded up to whole words in one.
	maxBits = min(1<<38, math.MaxInt-63)
	// maxHashes bounds the hash functions, far above any that the papers use.
	maxHashes = 1 << 10
)

// requireRange reports an error unless least <= value <= most.
func requireRange(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("paper: %s is %d, must be from %d to %d: %w", name, value, least, most, ErrParameter)
	}
	return nil
}

// requireShare reports an error unless 0 <= share < 1.
func requireShare(name string, share float64) error {
	if !(share >= 0 && share < 1) {
		return fmt.Errorf("paper: %s is %g, must be from 0 to below 1: %w", name, share, ErrParameter)
	}
	return nil
}
