package paper

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// GrowthRule says by what a filter of a [Dynamic] is full.
type GrowthRule int

const (
	// ByCardinality calls a filter full that has taken the events at which a Bloom
	// filter reaches the false positive rate, -(m/k) ln(1-P^(1/k)), rounded down. The
	// count is never lowered, as nobody sees an event leave the window.
	ByCardinality GrowthRule = iota
	// ByDensity calls a filter full of whose positions m P^(1/k) are not zero at
	// present.
	ByDensity
)

// DynamicConfig says which filters of dynamic size to build.
type DynamicConfig struct {
	// Filter describes each of the filters. Window 0 stands for append-only ones,
	// which have bits in place of timers; Equal is 0 or 1 then.
	Filter     TimerConfig
	FPR        float64 // P, the false positive rate at which a filter is full
	Rule       GrowthRule
	MaxFilters int // from 1; MaxFilters * Filter.Timers is at most 2^32
}

func (c DynamicConfig) validate() error {
	if err := c.validateFilter(); err != nil {
		return err
	}
	if err := requireRange("growth rule", int(c.Rule), int(ByCardinality), int(ByDensity)); err != nil {
		return err
	}
	if err := requireRange("filters at most", c.MaxFilters, 1, maxTimers/c.Filter.Timers); err != nil {
		return err
	}
	capacity, err := theory.BloomCapacity(c.Filter.Timers, c.Filter.K, c.FPR)
	if err != nil {
		return fmt.Errorf("paper: capacity: %w: %w", ErrParameter, err)
	}
	if capacity < 1 {
		least := math.Ceil(float64(c.Filter.Timers) / capacity)
		return fmt.Errorf("paper: %d timers hold no event at an FPR of %g, must be at least %.0f: %w",
			c.Filter.Timers, c.FPR, least, ErrParameter)
	}
	return nil
}

func (c DynamicConfig) validateFilter() error {
	if c.Filter.Window != 0 {
		return c.Filter.validate()
	}
	if c.Filter.Equal > 1 {
		return fmt.Errorf("paper: %d equal timers of filters without a window, must be 0 or 1: %w", c.Filter.Equal, ErrParameter)
	}
	return c.Filter.validateShape()
}

// full returns what [Dynamic] compares with: the events or the positions at which a
// filter is full.
func (c DynamicConfig) full() (float64, error) {
	if c.Rule == ByDensity {
		return theory.BloomDensity(c.Filter.Timers, c.Filter.K, c.FPR)
	}
	capacity, err := theory.BloomCapacity(c.Filter.Timers, c.Filter.K, c.FPR)
	return math.Floor(capacity), err
}
