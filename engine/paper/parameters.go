package paper

import (
	"errors"
	"fmt"
	"math"
)

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
