package theory

import (
	"errors"
	"fmt"
)

// ErrDomain is wrapped by every error of this package: an argument lies outside
// of the range for which the formula holds.
var ErrDomain = errors.New("value out of the formula's domain")

// requireAtLeast reports an error unless value, called name, is least or more.
func requireAtLeast(name string, value, least int) error {
	if value < least {
		return fmt.Errorf("theory: %s is %d, must be at least %d: %w", name, value, least, ErrDomain)
	}
	return nil
}

// requireRate reports an error unless 0 < rate < 1.
func requireRate(name string, rate float64) error {
	if !(rate > 0 && rate < 1) {
		return fmt.Errorf("theory: %s is %g, must be between 0 and 1, both excluded: %w", name, rate, ErrDomain)
	}
	return nil
}

// requireShare reports an error unless 0 <= share <= 1.
func requireShare(name string, share float64) error {
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("theory: %s is %g, must be from 0 to 1: %w", name, share, ErrDomain)
	}
	return nil
}
