// SPDX-License-Identifier: Apache-2.0

// Package splitmix has the generator that fixed and keyed multipliers come from.
package splitmix

import "github.com/flowdedup/flowdedup/layout"

// Golden is 2^64 over the golden ratio, the generator's step.
const Golden = 0x9e3779b97f4a7c15

// Next is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): it advances the state and returns
// the next output.
func Next(state *uint64) uint64 {
	*state += Golden
	return layout.Mix(*state)
}
