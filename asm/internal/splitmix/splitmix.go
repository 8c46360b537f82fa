// SPDX-License-Identifier: Apache-2.0

// Package splitmix has the generator that fixed and keyed multipliers come from.
package splitmix

// Golden is 2^64 over the golden ratio, the generator's step.
const Golden = 0x9e3779b97f4a7c15

// Next is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): it advances the state and returns
// the next output.
func Next(state *uint64) uint64 {
	*state += Golden
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
