package rivals

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/engine/paper"
)

// maxBits bounds a filter's memory, 4 GiB, so that a slip of units is an error.
const maxBits = min(1<<35, math.MaxInt)

// lineBits is the size of a cache line.
const lineBits = 512

// requireRange reports an error unless least <= value <= most.
func requireRange[T int | int64](name string, value, least, most T) error {
	if value < least || value > most {
		return fmt.Errorf("rivals: %s is %d, must be from %d to %d: %w", name, value, least, most, paper.ErrParameter)
	}
	return nil
}
