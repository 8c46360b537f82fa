package rivals

import (
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

// untimed is a filter that takes no notice of time.
type untimed struct{ paper.Filter }

func (u untimed) TestAndSet(d digest.Digest, _ int64) (seen bool) { return u.Filter.TestAndSet(d) }
